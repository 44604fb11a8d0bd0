# What all environments share. Facts of this installation stand in the master's configuration, each with a default:
#   infrastructure:
#     hive:
#       endpoint: https://127.0.0.1:9999
#       ca: /etc/hive/ca.pem           # the CA that signed the endpoint's certificate, if it is a private one
#       region: ap-southeast-2
#       version: '~> 3.39'             # of the provider hashicorp/aws
#     salt_master: ''                  # how hosts find this master, if they are to become its minions
{%- set hive = opts.get('infrastructure', {}).get('hive', {}) %}

infrastructure:
  defaults:
    binary: auto              # tofu or terraform on the PATH, else the embedded Terraform; or a path
    backend: {type: local}
    on_error: stop
    parallelism: 4
    timeouts: {init: 5m, plan: 15m, apply: 1h}

  providers:
    hive:
      kind: aws
      endpoint: {{ hive.get('endpoint', 'https://127.0.0.1:9999') | json }}
      region: {{ hive.get('region', 'ap-southeast-2') | json }}
      ca: {{ hive.get('ca', '') | json }}
      version: {{ hive.get('version', '') | json }}
      credentials:
        vault:
          path: secret/hive
          map: {AWS_ACCESS_KEY_ID: access_key, AWS_SECRET_ACCESS_KEY: secret_key}
