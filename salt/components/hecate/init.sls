# The reverse proxy (Caddy). Upstreams and their health checks come from Terraform's outputs. A new configuration goes
# live only if it is valid, has an upstream at all, and every upstream has at least one host that answers; otherwise the
# old one keeps serving. What Caddy runs is compared with what is written: a reload that failed is tried again.
#
#   components:
#     hecate:
#       domain: staging.example.com    # upstream `hera` is served as hera.staging.example.com
#       tls: internal                  # a CA of Caddy's own; or a mail address for one of the public ones
#       port: 443
#       package: caddy                 # or archive: {url: …, hash: …}
#       program: caddy
#       admin: localhost:2019          # where Caddy is asked what it runs, and told to reload
{%- set component = 'hecate' %}
{%- from 'components/map.jinja' import outputs, options, root, me, environment with context %}
{%- from 'components/macros.jinja' import program, account, owner, service with context %}
{%- set caddy = options.get('program', 'caddy') %}
{%- set live = root ~ '/etc/hecate/Caddyfile' %}
{%- set runs = grains['pythonexecutable'] ~ ' ' ~ root ~ '/etc/hecate/running.py ' ~ caddy ~ ' ' ~ live ~ ' '
  ~ options.get('admin', 'localhost:2019') %}
{%- set reload = options.get('reload', '' if root else 'systemctl reload hecate') %}

{{ program('hecate', options, root) }}

{{ account('hecate', root, ['/etc/hecate', '/var/lib/hecate']) }}

{%- if not outputs['upstreams'] %}

# Caddy takes a configuration without a site, and stops listening.
hecate upstreams named:
  test.fail_without_changes:
    - comment: >-
        hecate of {{ environment }} has no upstreams. What is live stays so. Name them in the component's `upstreams`, or
        destroy the component.
    - require_in:
      - file: hecate configuration
{%- endif %}

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

hecate comparison:
  file.managed:
    - name: {{ root }}/etc/hecate/running.py
    - source: salt://components/hecate/files/running.py
    - mode: '0644'
    {{- owner('hecate', root) }}
    - require:
      - file: hecate folder /etc/hecate

# Only when something is about to go live, so that a highstate without news asks nobody: the candidate isn't what is
# written, or Caddy runs something else (1). One that doesn't run is started, whoever answers.
hecate upstreams answer:
  cmd.run:
    - name: {{ root }}/etc/hecate/check-upstreams
    - unless: {{ ('cmp -s ' ~ live ~ '.new ' ~ live ~ (' && { ' ~ runs ~ '; test $? -ne 1; }' if reload else '')) | json }}
    - require:
      - file: hecate configuration
      - file: hecate health check
      - file: hecate comparison

# From the same source as the candidate, which isn't there yet under test=True.
hecate live:
  file.managed:
    - name: {{ live }}
    - source: salt://components/hecate/files/Caddyfile.jinja
    - template: jinja
    - mode: '0640'
    {{- owner('hecate', root) }}
    - context: {{ {'outputs': outputs, 'options': options, 'environment': environment} | json }}
    - require:
      - cmd: hecate upstreams answer

{{ service('hecate', '/usr/bin/env ' ~ caddy ~ ' run --adapter caddyfile --config /etc/hecate/Caddyfile', root, [],
           required=['hecate live'], capabilities='CAP_NET_BIND_SERVICE',
           reload='/usr/bin/env ' ~ caddy ~ ' reload --adapter caddyfile --config /etc/hecate/Caddyfile') }}

{%- if reload %}

hecate reloaded:
  cmd.run:
    - name: {{ reload }}
    - unless: {{ runs | json }}
    - require:
      - file: hecate live
      {%- if not root %}
      - service: hecate service
      {%- endif %}
{%- endif %}
