# The reverse proxy (Caddy). Upstreams and their health checks come from Terraform's outputs. A new configuration goes
# live only if it is valid and every upstream has at least one host that answers; otherwise the old one keeps serving.
#
#   components:
#     hecate:
#       domain: staging.example.com    # upstream `hera` is served as hera.staging.example.com
#       tls: internal                  # a CA of Caddy's own; or a mail address for one of the public ones
#       port: 443
#       package: caddy                 # or archive: {url: …, hash: …}
#       program: caddy
{%- set component = 'hecate' %}
{%- from 'components/map.jinja' import outputs, options, root, me, environment with context %}
{%- from 'components/macros.jinja' import program, account, owner, service with context %}
{%- set caddy = options.get('program', 'caddy') %}
{%- set live = root ~ '/etc/hecate/Caddyfile' %}
{%- set reload = options.get('reload', '' if root else 'systemctl reload hecate') %}

{{ program('hecate', options, root) }}

{{ account('hecate', root, ['/etc/hecate', '/var/lib/hecate']) }}

# The candidate. `check_cmd` sees it before it takes this place.
hecate configuration:
  file.managed:
    - name: {{ live }}.new
    - source: salt://components/hecate/files/Caddyfile.jinja
    - template: jinja
    - mode: '0640'
    {{- owner('hecate', root) }}
    - context: {{ {'outputs': outputs, 'options': options, 'environment': environment} | json }}
    - check_cmd: env HOME={{ root }}/var/cache/hecate-check {{ caddy }} validate --adapter caddyfile --config
    - require:
      - file: hecate folder /etc/hecate
      - id: hecate program

hecate health check:
  file.managed:
    - name: {{ root }}/etc/hecate/check-upstreams
    - source: salt://components/hecate/files/check-upstreams.jinja
    - template: jinja
    - mode: '0755'
    {{- owner('hecate', root) }}
    - context: {{ {'outputs': outputs} | json }}
    - require:
      - file: hecate folder /etc/hecate

# Only when the candidate is not what is live, so that a highstate without news asks nobody.
hecate upstreams answer:
  cmd.run:
    - name: {{ root }}/etc/hecate/check-upstreams
    - unless: cmp -s {{ live }}.new {{ live }}
    - require:
      - file: hecate configuration
      - file: hecate health check

hecate live:
  file.managed:
    - name: {{ live }}
    - source: {{ live }}.new
    - mode: '0640'
    {{- owner('hecate', root) }}
    - require:
      - cmd: hecate upstreams answer

{{ service('hecate', '/usr/bin/env ' ~ caddy ~ ' run --adapter caddyfile --config /etc/hecate/Caddyfile', root, [],
           required=['hecate live'], capabilities='CAP_NET_BIND_SERVICE',
           reload='/usr/bin/env ' ~ caddy ~ ' reload --adapter caddyfile --config /etc/hecate/Caddyfile') }}

{%- if reload %}

hecate reloaded:
  cmd.run:
    - name: {{ reload }}
    - onchanges:
      - file: hecate live
    {%- if not root %}
    - require:
      - service: hecate service
    {%- endif %}
{%- endif %}
