# The application's hosts: its service, and its registration in the Consul agent of this host, if there is one.
# Until `command` names your application, a page that says so is served, health check included.
#
#   components:
#     hera:
#       command: /opt/hera/bin/hera --port 8080
#       environment: {LOG_LEVEL: info}
#       package: hera                  # or archive: {url: …, hash: …}
{%- set component = 'hera' %}
{%- from 'components/map.jinja' import outputs, options, root, me, environment with context %}
{%- from 'components/macros.jinja' import program, account, owner, service with context %}
{%- set port = outputs['port'] | int %}
{%- set placeholder = '/usr/bin/env python3 -m http.server ' ~ port ~ ' --bind ' ~ me.address ~ ' --directory /srv/hera' %}

{{ program('hera', options, root) }}

{{ account('hera', root, ['/etc/hera', '/srv/hera']) }}

hera environment:
  file.managed:
    - name: {{ root }}/etc/hera/environment
    - source: salt://components/hera/files/environment.jinja
    - template: jinja
    - mode: '0600'
    - show_changes: False
    {{- owner('hera', root) }}
    - context: {{ {'outputs': outputs, 'options': options, 'me': me, 'environment': environment} | json }}
    - require:
      - file: hera folder /etc/hera

{%- if not options.get('command') %}
{%- for page, text in {'index.html': 'Hera is not installed here yet: set components:hera:command.', 'health': 'ok'}.items() %}

hera placeholder {{ page }}:
  file.managed:
    - name: {{ root }}/srv/hera/{{ page }}
    - contents: {{ text | json }}
    - mode: '0644'
    {{- owner('hera', root) }}
    - require:
      - file: hera folder /srv/hera
    - require_in:
      - test: hera ready
{%- endfor %}
{%- endif %}

# Read by a Consul agent that runs here with -config-dir=/etc/consul.
hera registration:
  file.serialize:
    - name: {{ root }}/etc/consul/hera.json
    - serializer: json
    - makedirs: True
    - mode: '0644'
    - dataset:
        service:
          name: hera
          address: {{ me.address }}
          port: {{ port }}
          check: {http: 'http://{{ me.address }}:{{ port }}/health', interval: 10s, timeout: 2s}

{{ service('hera', options.get('command', placeholder), root, ['hera environment']) }}
