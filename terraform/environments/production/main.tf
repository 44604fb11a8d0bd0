# Production, for plain Terraform or OpenTofu without Salt. Keys come from the environment, and with a private CA
# its path too: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_CA_BUNDLE. A test keeps this file equal to the pillar.

provider "aws" {
  region                      = var.region
  skip_region_validation      = true # Hive's regions are its own
  skip_credentials_validation = true
  skip_metadata_api_check     = true

  endpoints {
    ec2 = var.endpoint
    sts = var.endpoint
    iam = var.endpoint
  }

  default_tags {
    tags = { environment = "production" }
  }
}

module "networking" {
  source = "../../modules/networking"

  name       = "production"
  cidr       = "10.30.0.0/16"
  zone_count = 3
  nat        = true
}

module "consul" {
  source = "../../modules/consul-cluster"

  name          = "production-consul"
  node_count    = 3
  instance_type = "t3.small"

  vpc_id     = module.networking.vpc_id
  subnet_ids = module.networking.subnet_ids
  cidr       = module.networking.cidr
}

module "vault" {
  source = "../../modules/vault-cluster"

  name                   = "production-vault"
  node_count             = 3
  instance_type          = "t3.small"
  volume_size            = 50
  termination_protection = true

  vpc_id         = module.networking.vpc_id
  subnet_ids     = module.networking.subnet_ids
  cidr           = module.networking.cidr
  consul_address = module.consul.address
}

module "boundary" {
  source = "../../modules/boundary-cluster"

  name          = "production-boundary"
  node_count    = 2
  instance_type = "t3.small"
  worker_count  = 2

  vpc_id        = module.networking.vpc_id
  subnet_ids    = module.networking.subnet_ids
  cidr          = module.networking.cidr
  vault_address = module.vault.address
}

module "hera" {
  source = "../../modules/hera-framework"

  name          = "production-hera"
  node_count    = 3
  instance_type = "t3.small"
  port          = 8080

  vpc_id         = module.networking.vpc_id
  subnet_ids     = module.networking.subnet_ids
  cidr           = module.networking.cidr
  consul_address = module.consul.address
}

module "hecate" {
  source = "../../modules/hecate-proxy"

  name          = "production-hecate"
  node_count    = 2
  instance_type = "t3.small"
  upstreams = [
    { name = "hera", port = 8080, health_path = "/health" },
    { name = "boundary", port = 9200, health_path = "/" },
  ]
  health_check = { interval = 10, timeout = 2, failures = 3 }

  vpc_id             = module.networking.vpc_id
  subnet_ids         = module.networking.public_subnet_ids
  hera_addresses     = module.hera.addresses
  boundary_addresses = module.boundary.addresses
}

module "backups" {
  source = "../../modules/offsite-backup"

  name        = "production-backups"
  volume_size = 50
  generation  = "1"

  zones      = module.networking.zones
  volume_ids = module.vault.volume_ids
  addresses  = module.vault.hosts

  # Last of all, so that what is saved is complete.
  depends_on = [
    module.networking, module.consul, module.vault, module.boundary, module.hera, module.hecate,
  ]
}
