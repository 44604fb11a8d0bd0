# Destroy an environment, or some of its components, in reverse order:
#
#   salt-run state.orchestrate orchestrate.destroy pillar='{"environment": "staging", "yes": true}'
#
# Keys of the pillar:
#   environment   the environment (needed)
#   yes           true, or nothing is destroyed and the orchestration fails
#   components, only, parallelism, on_error, preserve_data
#                 as `salt-run infrastructure.destroy` takes them
{%- set options = ['components', 'only', 'parallelism', 'on_error', 'preserve_data'] %}

{%- if not pillar.get('environment') %}

destroy:
  test.fail_without_changes:
    - comment: 'No environment was named. Add it: pillar=''{"environment": "staging", "yes": true}'''

{%- elif pillar.get('yes') is not sameas true %}

destroy:
  test.fail_without_changes:
    - comment: >-
        Nothing was destroyed: `yes` is not true. To see what would go, run
        salt-run infrastructure.destroy {{ pillar['environment'] }}; to destroy it, add "yes": true to the pillar.

{%- else %}

destroy:
  salt.runner:
    - name: infrastructure.destroy
    - environment: {{ pillar['environment'] | json }}
    - 'yes': True          # quoted: YAML takes a bare yes for a boolean
    {%- for option in options if option in pillar %}
    - {{ option }}: {{ pillar[option] | json }}
    {%- endfor %}
{%- endif %}
