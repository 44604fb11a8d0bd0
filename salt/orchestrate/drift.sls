# Check an environment for drift; as a step of an orchestration, or from the master's schedule:
#
#   salt-run state.orchestrate orchestrate.drift pillar='{"environment": "staging"}'
#   salt-run state.orchestrate orchestrate.drift pillar='{"environment": "staging", "every": "1h", "over": "30m"}'
#
# Keys of the pillar:
#   environment   the environment (needed)
#   …             any other argument of `salt-run infrastructure.drift`
#   own_keys      names of keys that an SLS of yours reads; any other key is refused, and nothing runs
#
# States are synced first, so that a state changed by a plain `terraform apply` is known as such. Drift that is found
# doesn't fail the orchestration: events say so (see reactor/drift.sls). A check that could not be made does.
{%- set options = salt['infrastructure.given_options']('drift', own_keys | default([])) %}

sync states:
  salt.runner:
    - name: infrastructure.sync_states
    - environment: {{ options['environment'] | json }}

drift:
  salt.runner:
    - name: infrastructure.drift
    - kwarg: {{ options | json }}
