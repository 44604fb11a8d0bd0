# Small on purpose: aws providers wait ten seconds at every instance they create or terminate.
infrastructure:
  environments:
    staging:
      components:
        networking:
          module: networking
          provider: hive
          variables: {name: staging, cidr: 10.20.0.0/16, zone_count: 1, public_addresses: false}
          targets: '*'
        consul:
          module: consul-cluster
          provider: hive
          inputs:
            vpc_id: '@networking.vpc_id'
            subnet_ids: '@networking.subnet_ids'
            cidr: '@networking.cidr'
          variables: {name: staging-consul, node_count: 1}
          targets: '*'
        data:
          module: offsite-backup
          provider: hive
          stateful: true
          inputs: {zones: '@networking.zones'}
          variables: {name: staging-data, volume_size: 10}
    production:
      promoted_from: staging        # its components are releases that staging has proved; this is what is its own:
      components:
        networking: {variables: {name: production, cidr: 10.30.0.0/16}}
        data: {variables: {name: production-data}}
