base:
  '*_master':
    - infrastructure.common
    - credentials.vault
    - demo
