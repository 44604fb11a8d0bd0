# Tell people that a plan waits for them, was decided, or is about to expire: examples/master.d/saltform-approvals.conf
# says when this is called and where the news go. It tells; it can't approve: nobody but a person can.
#
# A minion can send any tag, but what it sends stands one level deeper and has its id: only our own events are told.
{%- set notify = opts.get('saltform_notify') or {} %}
{%- if data.get('what') and 'id' not in data and notify.get('webhook') %}
tell of approvals:
  runner.http.query:
    - args:
      - url: {{ notify['webhook'] | json }}
      - method: POST
      - header_dict: {Content-Type: application/json}
      - data: {{ {
          'text': 'run ' ~ data['run'] ~ ' of ' ~ data['environment'] ~ ': ' ~ data['what']
                  ~ (' by ' ~ data['by'] if data.get('by') is string else '')
                  ~ ('. ' ~ data['command'] if data.get('command') else ''),
          'environment': data['environment'],
          'run': data['run'],
          'what': data['what'],
          'command': data.get('command', ''),
        } | json | json }}
{%- endif %}
