# The Vault that pillar's `vault:` names is initialised if it is new, and unsealed. Apply it where its safe can be opened.
# To unseal it after every restart, put this into the same minion's pillar (of a minion with a master: where the keys are
# is asked from there):
#   schedule: {unseal vault: {function: saltform_vault.ready, minutes: 1, maxrunning: 1, return_job: false}}

vault is ready:
  module.run:
    - saltform_vault.ready: []
