# Staging, for plain Terraform or OpenTofu without Salt. Keys come from the environment, and with a private CA
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
    tags = { environment = "staging" }
  }
}

module "networking" {
  source = "../../modules/networking"

  name       = "staging"
  cidr       = "10.20.0.0/16"
  zone_count = 2
  nat        = false
}

module "consul" {
  source = "../../modules/consul-cluster"

  name          = "staging-consul"
  node_count    = 1
  instance_type = "t3.micro"

  vpc_id     = module.networking.vpc_id
  subnet_ids = module.networking.subnet_ids
  cidr       = module.networking.cidr
}

module "vault" {
  source = "../../modules/vault-cluster"

  name                   = "staging-vault"
  node_count             = 1
  instance_type          = "t3.micro"
  volume_size            = 10
  termination_protection = false

  vpc_id         = module.networking.vpc_id
  subnet_ids     = module.networking.subnet_ids
  cidr           = module.networking.cidr
  consul_address = module.consul.address
}

module "boundary" {
  source = "../../modules/boundary-cluster"

  name          = "staging-boundary"
  node_count    = 1
  instance_type = "t3.micro"
  worker_count  = 1

  vpc_id        = module.networking.vpc_id
  subnet_ids    = module.networking.subnet_ids
  cidr          = module.networking.cidr
  vault_address = module.vault.address
}

module "hera" {
  source = "../../modules/hera-framework"

  name          = "staging-hera"
  node_count    = 1
  instance_type = "t3.micro"
  port          = 8080

  vpc_id         = module.networking.vpc_id
  subnet_ids     = module.networking.subnet_ids
  cidr           = module.networking.cidr
  consul_address = module.consul.address
}

module "hecate" {
  source = "../../modules/hecate-proxy"

  name          = "staging-hecate"
  node_count    = 1
  instance_type = "t3.micro"
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

  name        = "staging-backups"
  volume_size = 10
  generation  = "1"

  zones      = module.networking.zones
  volume_ids = module.vault.volume_ids
  addresses  = module.vault.hosts

  # Last of all, so that what is saved is complete.
  depends_on = [
    module.networking, module.consul, module.vault, module.boundary, module.hera, module.hecate,
  ]
}
