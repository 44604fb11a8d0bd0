# Where `init` takes providers from: a mirror folder of our own, a plugin cache, and the CLI configuration that names
# both. The engine writes its own from `saltform: {mirror: …}`; this one is for people at the shell:
#   export TF_CLI_CONFIG_FILE=/etc/saltform/terraform.tfrc
#
#   worker:
#     providers:
#       - source: registry.terraform.io/hashicorp/aws
#         version: 3.39.0
#         platform: linux_amd64              # the default
#         archive: salt://files/terraform-provider-aws_3.39.0_linux_amd64.zip   # or a path, or a URL
#         hash: sha256=…
{%- from 'terraform/map.jinja' import worker, state_dir, config_dir, cache_dir, mirror with context %}

include:
  - terraform.backends             # for the folder that the states and the cache are in

worker cache:
  file.directory:
    - name: {{ cache_dir }}
    - makedirs: True
    - mode: '0700'
    - require:
      - file: worker states

worker plugin cache:
  file.directory:
    - name: {{ cache_dir }}/plugins
    - mode: '0700'
    - require:
      - file: worker cache

{%- for provider in worker.providers %}

# Unpacked, because `init` links what is unpacked and unzips what is packed, every time.
worker provider {{ provider.source }} {{ provider.version }}:
  archive.extracted:
    - name: {{ mirror }}/{{ provider.source }}/{{ provider.version }}/{{ provider.get('platform', 'linux_amd64') }}
    - source: {{ provider.archive }}
    - source_hash: {{ provider.hash }}
    - enforce_toplevel: False
    - require:
      - file: worker cache
    - require_in:
      - file: worker CLI configuration
{%- endfor %}

worker CLI configuration:
  file.managed:
    - name: {{ config_dir }}/terraform.tfrc
    - source: salt://terraform/files/terraform.tfrc.jinja
    - template: jinja
    - makedirs: True
    - mode: '0644'
    - context:
        mirror: {{ mirror }}
        plugin_cache: {{ cache_dir }}/plugins
    - require:
      - file: worker plugin cache
