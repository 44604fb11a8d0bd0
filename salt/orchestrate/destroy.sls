# Destroy an environment, or some of its components, in reverse order:
#
#   salt-run state.orchestrate orchestrate.destroy pillar='{"environment": "staging", "yes": true}'
#
# Keys of the pillar:
#   environment   the environment (needed)
#   yes           true, or nothing is destroyed and the orchestration fails; a `dry_run` needs none
#   …             any other argument of `salt-run infrastructure.destroy`
#   own_keys      names of keys that an SLS of yours reads; any other key is refused, and nothing runs
{%- set options = salt['infrastructure.given_options']('destroy', own_keys | default([])) %}

destroy:
{%- if options.get('yes') is sameas true or options.get('dry_run') %}
  salt.runner:
    - name: infrastructure.destroy
    - kwarg: {{ options | json }}
{%- else %}
  test.fail_without_changes:
    - comment: >-
        Nothing was destroyed: `yes` is not true. To see what would go, run
        salt-run infrastructure.destroy {{ options['environment'] }}; to destroy it, add "yes": true to the pillar.
{%- endif %}
