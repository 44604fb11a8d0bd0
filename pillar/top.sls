# `infrastructure:` belongs to the id that runners compile pillar for, `<master id>_master`, and to nobody else:
# it says where credentials are. Never accept a minion key whose id ends in `_master`. (A master whose
# configuration sets `id:` itself goes by exactly that id: name it here, or set `saltform: {pillar_id: …_master}`.)
#
# Hosts get what they need from the ext_pillar `terraform_outputs`: add it to the master's configuration,
#   ext_pillar:
#     - terraform_outputs: {}
base:
  '*_master':
    - infrastructure.common
    - infrastructure.staging
    - infrastructure.production
    - credentials.vault
