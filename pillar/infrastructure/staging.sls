# Staging: the whole stack at its smallest. What the components are stands once, in stack.jinja;
# only what tells this environment from the others is said here.
{%- set environment = 'staging' %}
{%- set network = {'cidr': '10.20.0.0/16', 'zone_count': 2, 'nat': false} %}
{%- set size = {'consul': 1, 'vault': 1, 'boundary': 1, 'boundary_workers': 1, 'hecate': 1, 'hera': 1} %}
{%- set instance_type = 't3.micro' %}
{%- set volume_size = 10 %}
{%- set termination_protection = false %}
{% include 'infrastructure/stack.jinja' %}
