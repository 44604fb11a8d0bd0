# Check first, then deploy:
#
#   salt-run state.orchestrate orchestrate pillar='{"environment": "staging"}'
#
# Preflight looks at everything that can be known beforehand (binary, mirror, backend, credentials, modules); the
# deploy starts only if all of it is in order. Keys of the pillar: see deploy.sls.
include:
  - orchestrate.deploy

{%- if pillar.get('environment') %}

preflight:
  salt.runner:
    - name: infrastructure.preflight
    - environment: {{ pillar['environment'] | json }}
    {%- if 'components' in pillar %}
    - components: {{ pillar['components'] | json }}
    {%- endif %}
    - require_in:
      - salt: deploy
{%- endif %}
