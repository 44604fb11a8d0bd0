# A Consul server that joins the others by the addresses that Terraform knows.
#
#   components:
#     consul:
#       gossip_key: …        # `consul keygen`; from a pillar that only these hosts see
#       package: consul      # or archive: {url: …, hash: …}
{%- set component = 'consul' %}
{%- from 'components/map.jinja' import outputs, options, root, me, environment with context %}
{%- from 'components/macros.jinja' import program, account, owner, service with context %}

{{ program('consul', options, root) }}

{{ account('consul', root, ['/etc/consul', '/var/lib/consul']) }}

consul configuration:
  file.managed:
    - name: {{ root }}/etc/consul/consul.hcl
    - source: salt://components/consul/files/consul.hcl.jinja
    - template: jinja
    - mode: '0640'
    - show_changes: False          # it may hold the gossip key
    {{- owner('consul', root) }}
    - context: {{ {'outputs': outputs, 'options': options, 'me': me, 'environment': environment} | json }}
    - require:
      - file: consul folder /etc/consul

{{ service('consul', '/usr/bin/env consul agent -config-dir=/etc/consul', root, ['consul configuration'],
           reload='/bin/kill -HUP $MAINPID') }}
