# Production: the same components as staging, three of what must survive the loss of one.
{%- set environment = 'production' %}
{%- set network = {'cidr': '10.30.0.0/16', 'zone_count': 3, 'nat': true} %}
{%- set size = {'consul': 3, 'vault': 3, 'boundary': 2, 'boundary_workers': 2, 'hecate': 2, 'hera': 3} %}
{%- set instance_type = 't3.small' %}
{%- set volume_size = 50 %}
{%- set termination_protection = true %}
{% include 'infrastructure/stack.jinja' %}
