# Run what a minion asks for by an event saltform/request/VERB, if it is on the list of the environment: docs/events.md
# says how it asks, and examples/master.d/saltform-requests.conf when this is called.
#
# Who asks is the id that stands on the event, and not what the minion says in it. The runner asks that minion back.
{%- set asked = data.get('data') %}
{%- if data.get('id') is string and asked is mapping %}
run what a minion asks for:
  runner.infrastructure.request:
    - args:
      - verb: {{ tag.split('/')[2] | json }}
      - minion: {{ data['id'] | json }}
      - asked: {{ {
          'environment': asked.get('environment'),
          'components': asked.get('components'),
          'request': asked.get('request'),
        } | json }}
{%- endif %}
