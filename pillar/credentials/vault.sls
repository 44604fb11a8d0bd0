# How the master logs in to Vault or OpenBao. No secret stands here: both ids are read from files on the master
# (0600, owned by the user that Salt runs as) at each run. To use another server or another way to log in, set
# `infrastructure: {vault: {…}}` in the master's configuration; its keys replace the ones below.
{%- set defaults = {
  'address': 'https://127.0.0.1:8200',
  'auth': {
    'method': 'approle',
    'role_id': {'file': '/etc/salt/saltform/vault-role-id'},
    'secret_id': {'file': '/etc/salt/saltform/vault-secret-id'},
  },
} %}
{%- do defaults.update(opts.get('infrastructure', {}).get('vault', {})) %}

infrastructure:
  vault: {{ defaults | json }}
