# Check first, then deploy:
#
#   salt-run state.orchestrate orchestrate pillar='{"environment": "staging"}'
#
# Preflight looks at everything that can be known beforehand (binary, mirror, backend, credentials, modules); the
# deploy starts only if all of it is in order. Keys of the pillar: see deploy.sls.
{%- set options = salt['infrastructure.given_options']('deploy', ['target', 'highstate'] + own_keys | default([])) %}

include:
  - orchestrate.deploy

preflight:
  salt.runner:
    - name: infrastructure.preflight
    - environment: {{ options['environment'] | json }}
    {%- if 'components' in options %}
    - components: {{ options['components'] | json }}
    {%- endif %}
    - require_in:
      - salt: deploy
