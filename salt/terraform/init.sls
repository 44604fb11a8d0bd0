# Makes a minion a worker: a place where terraform runs.
#
#   salt 'worker-*' state.apply terraform
#   salt-call --local state.apply terraform
#
# Pillar, all of it optional:
#   worker:
#     wheel:                                 # this very build of Saltform, into Salt's own Python: `make wheel` makes the
#       source: salt://files/saltform-0.1.0-py3-none-any.whl     # file and prints these lines
#       hash: sha256=…
#       extras: [embedded]                   #   the default: a Terraform and an aws provider come along
#     binary:                                # another Terraform or OpenTofu than the embedded one:
#       path: /usr/bin/tofu                  #   one that is there already, or
#       url: https://…/terraform_1.11.4_linux_amd64.zip
#       hash: sha256=…                       #   one to fetch
#     mirror: auto                           # auto | registry | https://… | a folder
#     providers: …                           # see providers.sls
#     backends: [local]                      # see backends.sls
#     modules: /srv/terraform/modules
#     state_dir: /var/lib/saltform
{%- from 'terraform/map.jinja' import worker, state_dir, config_dir, cache_dir, mirror with context %}
{%- set name = 'tofu' if 'tofu' in worker.binary.get('path', worker.binary.get('url', '')) else 'terraform' %}
{%- set binary = worker.root ~ worker.bin_dir ~ '/' ~ name %}

include:
  - terraform.backends
  - terraform.providers

{%- if worker.wheel %}
{%- set wheel = cache_dir ~ '/' ~ worker.wheel.source.split('/') | last %}
{%- set digest = worker.wheel.hash | regex_replace('^sha256[=:]', '') %}
{%- set salt_pip = '/opt/saltstack/salt/salt-pip' %}
{%- set pip = salt_pip if salt['file.file_exists'](salt_pip) else grains.pythonexecutable ~ ' -m pip' %}
{%- set wanted = wheel ~ '[' ~ worker.wheel.get('extras', ['embedded']) | join(',') ~ ']' %}

worker wheel:
  file.managed:
    - name: {{ wheel }}
    - source: {{ worker.wheel.source }}
    - mode: '0600'
    - require:
      - file: worker cache

# Salt checks no hash of what comes from salt://, so it is checked here. The second install replaces another build of
# the same version; pip writes the hash down where `unless` finds it.
worker package:
  cmd.run:
    - name: >-
        echo '{{ digest }}  {{ wheel }}' | sha256sum --check --quiet &&
        {{ pip }} install --quiet '{{ wanted }}' &&
        {{ pip }} install --quiet --upgrade --force-reinstall --no-deps '{{ wheel }}'
    - unless: >-
        {{ grains.pythonexecutable }} -c "from importlib.metadata import distribution;
        assert 'sha256={{ digest }}' + chr(34) in distribution('saltform').read_text('direct_url.json')"
    - require:
      - file: worker wheel
{%- elif 'terraform.output' not in salt %}

worker package:
  test.fail_without_changes:
    - comment: >-
        The Python package saltform is not here, and pillar worker:wheel doesn't say where to take it from. `make wheel`
        in a checkout of Saltform builds it and prints the pillar.
{%- endif %}

{%- if worker.binary.get('url') %}

worker binary fetched:
  archive.extracted:
    - name: {{ cache_dir }}/binary
    - source: {{ worker.binary.url }}
    - source_hash: {{ worker.binary.hash }}
    - enforce_toplevel: False
    - clean: True                 # a new version takes the old one's place
    - source_hash_update: True
    - require:
      - file: worker cache
{%- endif %}

{%- if worker.binary %}

worker binary:
  file.symlink:
    - name: {{ binary }}
    - target: {{ worker.binary.get('path') or cache_dir ~ '/binary/' ~ name }}
    - makedirs: True
    - force: True
    {%- if worker.binary.get('url') %}
    - require:
      - archive: worker binary fetched
    {%- endif %}

# A binary that doesn't start is found here and not in the middle of a run.
worker binary starts:
  cmd.run:
    - name: {{ binary }} version
    - env:
      - CHECKPOINT_DISABLE: '1'
      - TF_CLI_CONFIG_FILE: {{ config_dir }}/terraform.tfrc
    - require:
      - file: worker CLI configuration
    - onchanges:
      - file: worker binary
      {%- if worker.binary.get('url') %}
      - archive: worker binary fetched
      {%- endif %}
{%- endif %}

# What the engine reads. A minion takes it up with its next restart. It makes no home of a worker: that is the minion
# whose pillar has `infrastructure:`.
worker settings:
  file.serialize:
    - name: {{ worker.root }}{{ worker.minion_config_dir }}/saltform.conf
    - serializer: yaml
    - makedirs: True
    - mode: '0644'
    - dataset:
        saltform:
          state_dir: {{ state_dir }}
          modules: [{{ worker.root }}{{ worker.modules }}]
          mirror: {{ mirror }}
