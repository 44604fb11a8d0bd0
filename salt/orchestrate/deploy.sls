# Deploy an environment, then bring its minions up to date:
#
#   salt-run state.orchestrate orchestrate.deploy pillar='{"environment": "staging"}'
#   salt-run state.orchestrate orchestrate.deploy pillar='{"environment": "staging", "target": "staging-*", "highstate": true}'
#
# Keys of the pillar:
#   environment   the environment (needed)
#   …             any other argument of `salt-run infrastructure.deploy`
#   target        minions (a compound match) that get their pillar refreshed once the deploy is done
#   highstate     true: they are brought to their highstate after that
#   own_keys      names of keys that an SLS of yours reads; any other key is refused, and nothing runs
#
# The orchestration fails when the deploy fails, waits for approval, is locked out or cancelled; then no minion is
# touched. Add steps of your own in an SLS that includes this one and requires `salt: deploy` (docs/orchestrate.md).
{%- set options = salt['infrastructure.given_options']('deploy', ['target', 'highstate'] + own_keys | default([])) %}
{%- if pillar.get('highstate') and not pillar.get('target') %}
{{ raise('highstate is true and target names no minions: add "target": "staging-*" to the pillar') }}
{%- endif %}

deploy:
  salt.runner:
    - name: infrastructure.deploy
    - kwarg: {{ options | json }}

{%- if pillar.get('target') and not options.get('dry_run') %}

# Synchronous: what follows must see the new outputs.
refresh pillar:
  salt.function:
    - name: saltutil.refresh_pillar
    - tgt: {{ pillar['target'] | json }}
    - tgt_type: compound
    - kwarg: {wait: True}
    - require:
      - salt: deploy

{%- if pillar.get('highstate') %}

highstate:
  salt.state:
    - tgt: {{ pillar['target'] | json }}
    - tgt_type: compound
    - highstate: True
    - require:
      - salt: refresh pillar
{%- endif %}
{%- endif %}
