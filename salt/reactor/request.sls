# Run what a minion asks for by an event saltform/request/VERB, if it is on the list of the environment: docs/events.md
# says how it asks, and examples/master.d/saltform-requests.conf when this is called.
#
# Who asks is the id that stands on the event, and not what the minion says in it. The runner starts a process that asks
# that minion back, and returns; whatever a request doesn't have is refused there. What is too long to be a request is
# none: reading it would hold up all other reactions.
{%- set asked = data.get('data') %}
{%- if data.get('id') is string and data['id'] | length < 256 and tag | length < 256 and asked is mapping %}
{%- set wanted = asked | json %}
{%- if wanted | length < 4000 %}
run what a minion asks for:
  runner.infrastructure.request:
    - args:
      - verb: {{ tag.split('/')[2] | json }}
      - minion: {{ data['id'] | json }}
      - asked: {{ wanted }}
{%- endif %}
{%- endif %}
