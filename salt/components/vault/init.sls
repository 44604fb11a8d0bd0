# A Vault (or OpenBao) server with integrated storage on its own volume. Its peers come from Terraform's outputs.
# It starts sealed. With `keys` it is initialised once and unsealed after every start, its shares kept in a safe
# (see the module saltform_vault); without, a person does that.
#
#   components:
#     vault:
#       program: vault             # or bao
#       package: vault             # or archive: {url: …, hash: …}
#       tls: {certificate: /etc/vault/tls.crt, key: /etc/vault/tls.key, ca: /etc/vault/ca.crt}
#       data_device: /dev/nvme1n1  # where the kernel calls the volume otherwise than Terraform did
#       listen: 0.0.0.0            # the security group says who gets through
#       keys:
#         address: http://127.0.0.1:8200
#         shares: 5
#         threshold: 3
#         safe: {vault: {address: https://vault.example.com:8200, auth: {…}, path: secret/vaults/staging}}
{%- set component = 'vault' %}
{%- from 'components/map.jinja' import outputs, options, root, me, environment with context %}
{%- from 'components/macros.jinja' import program, account, owner, service with context %}
{%- set command = '/usr/bin/env ' ~ options.get('program', 'vault') ~ ' server -config=/etc/vault/vault.hcl' %}

{{ program('vault', options, root) }}

{{ account('vault', root, ['/etc/vault', '/var/lib/vault', '/var/lib/vault/data']) }}

{%- if not root %}

# Formatted only while it has no file system: an old volume on a new server keeps its data.
vault data volume:
  blockdev.formatted:
    - name: {{ options.get('data_device', outputs['data_device']) }}
    - fs_type: ext4

vault data mounted:
  mount.mounted:
    - name: /var/lib/vault
    - device: {{ options.get('data_device', outputs['data_device']) }}
    - fstype: ext4
    - mkmnt: True
    - require:
      - blockdev: vault data volume
    - require_in:
      - file: vault folder /var/lib/vault
{%- endif %}

vault configuration:
  file.managed:
    - name: {{ root }}/etc/vault/vault.hcl
    - source: salt://components/vault/files/vault.hcl.jinja
    - template: jinja
    - mode: '0640'
    {{- owner('vault', root) }}
    - context: {{ {'outputs': outputs, 'options': options, 'me': me, 'root': root} | json }}
    - require:
      - file: vault folder /etc/vault

{{ service('vault', command, root, ['vault configuration'], reload='/bin/kill -HUP $MAINPID') }}

{%- if options.get('keys') %}
{%- set keys = options['keys'] %}

vault answers:
  http.wait_for_successful_query:
    - name: {{ keys['address'] }}/v1/sys/seal-status
    - status: 200
    - wait_for: 60
    - request_interval: 1
    {%- if keys.get('ca') %}
    - ca_bundle: {{ keys['ca'] }}
    {%- endif %}
    {%- if not root %}
    - require:
      - service: vault service
    {%- endif %}

# Only the first server may make new keys; the others wait until they have joined it, and are unsealed then.
vault unsealed:
  module.run:
    - saltform_vault.ready:
      - key: components:vault:keys
    - onlyif:
      - fun: saltform_vault.status
        args: ['components:vault:keys']
        get_return: sealed
      {%- if me.address != outputs['address'] %}
      - fun: saltform_vault.status
        args: ['components:vault:keys']
        get_return: initialised
      {%- endif %}
    - require:
      - http: vault answers
{%- endif %}
