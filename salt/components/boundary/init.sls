# A Boundary controller or worker, whichever the outputs say this host is.
#
#   components:
#     boundary:
#       database_url: postgresql://…   # controllers; from a pillar that only these hosts see
#       vault_token: …                 # may use the transit keys `root`, `worker-auth` and `recovery`
#       vault: {scheme: https, ca: /etc/boundary/vault-ca.pem}   # as Vault's own `tls:` is; http where it has none
#       package: boundary              # or archive: {url: …, hash: …}
{%- set component = 'boundary' %}
{%- from 'components/map.jinja' import outputs, options, root, me, environment with context %}
{%- from 'components/macros.jinja' import program, account, owner, service with context %}
{%- set vault = {'scheme': 'http', 'ca': ''} %}
{%- do vault.update(options.get('vault') or {}) %}
{%- if vault.scheme not in ('http', 'https') or (vault.ca and vault.scheme != 'https') %}
{{ raise('components:boundary:vault has the scheme ' ~ vault.scheme ~ (' and a CA' if vault.ca else '')
  ~ ', expected https where Vault has TLS, else http. Write: vault: {scheme: https, ca: PATH}') }}
{%- endif %}
{%- set role = 'controller' if me.name in outputs.hosts else 'worker' %}

{{ program('boundary', options, root) }}

{{ account('boundary', root, ['/etc/boundary']) }}

boundary configuration:
  file.managed:
    - name: {{ root }}/etc/boundary/boundary.hcl
    - source: salt://components/boundary/files/{{ role }}.hcl.jinja
    - template: jinja
    - mode: '0640'
    {{- owner('boundary', root) }}
    - context: {{ {'outputs': outputs, 'me': me, 'environment': environment, 'vault': vault} | json }}
    - require:
      - file: boundary folder /etc/boundary

# Secrets go through the environment of the service, not into the configuration.
boundary environment:
  file.managed:
    - name: {{ root }}/etc/boundary/environment
    - source: salt://components/boundary/files/environment.jinja
    - template: jinja
    - mode: '0600'
    - show_changes: False
    {{- owner('boundary', root) }}
    - context: {{ {'options': options, 'role': role} | json }}
    - require:
      - file: boundary folder /etc/boundary

{{ service('boundary', '/usr/bin/env boundary server -config=/etc/boundary/boundary.hcl', root,
           ['boundary configuration', 'boundary environment']) }}

{%- if role == 'controller' and not root %}

# Without a first login: its password would be printed here. The first administrator is made with the recovery key.
{%- set config = '-config=/etc/boundary/boundary.hcl' %}

boundary database:
  cmd.run:
    - name: boundary database init -skip-initial-login-role-creation {{ config }} || boundary database migrate {{ config }}
    - runas: boundary
    - env: {{ {'BOUNDARY_PG_URL': options.get('database_url', ''), 'VAULT_TOKEN': options.get('vault_token', '')} | json }}
    - creates: /etc/boundary/.database-made
    - require:
      - file: boundary configuration

boundary database marked:
  file.managed:
    - name: /etc/boundary/.database-made
    - contents: Salt made or migrated the database; delete this file to have it done again.
    - require:
      - cmd: boundary database
    - require_in:
      - test: boundary ready
{%- endif %}
