# Tell people about drift, and only when a component's status has changed: examples/master.d/saltform-drift.conf says
# when this is called and where the news go.
#
# A minion can send any tag, but what it sends stands one level deeper and has its id: only our own events are told.
{%- set notify = opts.get('saltform_notify') or {} %}
{%- if data.get('changed') and 'id' not in data and notify.get('webhook') %}
tell of drift:
  runner.http.query:
    - args:
      - url: {{ notify['webhook'] | json }}
      - method: POST
      - header_dict: {Content-Type: application/json}
      - data: {{ {
          'text': data['environment'] ~ '/' ~ data['component'] ~ ' is ' ~ data['status']
                  ~ (', was ' ~ data['was'] if data['was'] else ''),
          'environment': data['environment'],
          'component': data['component'],
          'status': data['status'],
          'was': data['was'],
          'new': data['new'],
          'run': data['run'],
        } | json | json }}
{%- endif %}
