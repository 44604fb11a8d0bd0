# Let the minions of new instances in, by the one-time token that each of them was given: docs/highstate.md says what
# the master's configuration needs (examples/master.d/saltform-keys.conf).
#
# Token and id are checked as a pair by the runner. Its arguments have the token's digest, not the token.
{%- set token = (data.get('autosign_grains') or {}).get('saltform_token') %}
{%- if token is string and data.get('act') in ('pend', 'denied') %}
accept the key of an instance:
  runner.infrastructure.accept_key:
    - args:
      - minion: {{ data['id'] | json }}
      - key: {{ data['pub'] | json }}
      - digest: {{ token | sha256 | json }}
{%- endif %}
