terraform {
  required_version = ">= 1.6"

  required_providers {
    aws = {
      # The host is written out: OpenTofu would otherwise look in its own registry.
      source  = "registry.terraform.io/hashicorp/aws"
      version = ">= 3.39"
    }
  }
}
