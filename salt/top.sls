# What runs on the hosts that Terraform made. A minion goes by the Name tag of its instance: staging-consul-1.
base:
  '*-consul-*':
    - components.consul
  '*-vault-*':
    - components.vault
  '*-boundary-*':
    - components.boundary
  '*-hecate-*':
    - components.hecate
  '*-hera-*':
    - components.hera
