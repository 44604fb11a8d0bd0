# Deploy an environment, then bring its minions up to date:
#
#   salt-run state.orchestrate orchestrate.deploy pillar='{"environment": "staging"}'
#   salt-run state.orchestrate orchestrate.deploy pillar='{"environment": "staging", "target": "staging-*", "highstate": true}'
#
# Keys of the pillar:
#   environment   the environment (needed)
#   components, only, refresh, parallelism, on_error, replace, preserve_data
#                 as `salt-run infrastructure.deploy` takes them
#   target        minions (a compound match) that get their pillar refreshed once the deploy is done
#   highstate     true: they are brought to their highstate after that
#
# The orchestration fails when the deploy fails, waits for approval, is locked out or cancelled; then no minion is
# touched. Add steps of your own in an SLS that includes this one and requires `salt: deploy`.
{%- set options = ['components', 'only', 'refresh', 'parallelism', 'on_error', 'replace', 'preserve_data'] %}

{%- if not pillar.get('environment') %}

deploy:
  test.fail_without_changes:
    - comment: 'No environment was named. Add it: pillar=''{"environment": "staging"}'''

{%- else %}

deploy:
  salt.runner:
    - name: infrastructure.deploy
    - environment: {{ pillar['environment'] | json }}
    {%- for option in options if option in pillar %}
    - {{ option }}: {{ pillar[option] | json }}
    {%- endfor %}

{%- if pillar.get('target') %}

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
{%- endif %}
