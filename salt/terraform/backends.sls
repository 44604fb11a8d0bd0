# What a worker needs to reach the places where states are kept.
#
#   worker:
#     backends: [local, s3, pg]              # local keeps states here: right for one master, and nobody else
#     certificates:                          # CAs of backends and endpoints, as PEM
#       hive: |
#         -----BEGIN CERTIFICATE-----
{%- from 'terraform/map.jinja' import worker, state_dir, config_dir with context %}
{%- set readers = {'local': [], 's3': ['boto3'], 'pg': ['psycopg[binary]']} %}
{%- set packages = [] %}
{%- for backend in worker.backends %}
{%- do packages.extend(readers.get(backend, [])) %}
{%- endfor %}

# States and run log: they may hold secrets that Terraform itself writes.
worker states:
  file.directory:
    - name: {{ state_dir }}
    - makedirs: True
    - mode: '0700'

{%- if packages %}

worker backend readers:
  pip.installed:
    - pkgs: {{ packages | json }}
{%- endif %}

{%- for name, pem in worker.certificates.items() %}

worker certificate {{ name }}:
  file.managed:
    - name: {{ config_dir }}/certificates/{{ name }}.pem
    - contents: {{ pem | json }}
    - makedirs: True
    - mode: '0644'
{%- endfor %}
