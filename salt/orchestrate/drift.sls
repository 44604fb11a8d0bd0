# Check an environment for drift; as a step of an orchestration, or from the master's schedule:
#
#   salt-run state.orchestrate orchestrate.drift pillar='{"environment": "staging"}'
#   salt-run state.orchestrate orchestrate.drift pillar='{"environment": "staging", "every": "1h", "over": "30m"}'
#
# Keys of the pillar:
#   environment   the environment (needed)
#   components, parallelism, over, every, heal, dry_run
#                 as `salt-run infrastructure.drift` takes them
#
# States are synced first, so that a state changed by a plain `terraform apply` is known as such. Drift that is found
# doesn't fail the orchestration: events say so (see reactor/drift.sls). A check that could not be made does.
{%- set options = ['components', 'parallelism', 'over', 'every', 'heal', 'dry_run'] %}

{%- if not pillar.get('environment') %}

drift:
  test.fail_without_changes:
    - comment: 'No environment was named. Add it: pillar=''{"environment": "staging"}'''

{%- else %}

sync states:
  salt.runner:
    - name: infrastructure.sync_states
    - environment: {{ pillar['environment'] | json }}

drift:
  salt.runner:
    - name: infrastructure.drift
    - environment: {{ pillar['environment'] | json }}
    {%- for option in options if option in pillar %}
    - {{ option }}: {{ pillar[option] | json }}
    {%- endfor %}
{%- endif %}
