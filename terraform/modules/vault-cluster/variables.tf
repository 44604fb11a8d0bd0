variable "name" {
  type        = string
  description = "Name of the cluster and prefix of its hosts, e.g. `staging-vault`."

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,61}$", var.name))
    error_message = "name must start with a letter and hold only lowercase letters, digits and hyphens (62 at most)."
  }
}

variable "vpc_id" {
  type        = string
  description = "The VPC to live in."
}

variable "subnet_ids" {
  type        = list(string)
  description = "Subnets that hosts are spread over, in turn."

  validation {
    condition     = length(var.subnet_ids) > 0
    error_message = "subnet_ids must name at least one subnet."
  }
}

variable "cidr" {
  type        = string
  description = "Address range that may reach the API, usually the VPC's."

  validation {
    condition     = can(cidrhost(var.cidr, 0))
    error_message = "cidr must be an IPv4 range such as 10.20.0.0/16."
  }
}

variable "node_count" {
  type        = number
  default     = 1
  description = "How many servers: an odd number, so that a majority can be found."

  validation {
    condition     = contains([1, 3, 5, 7], var.node_count)
    error_message = "node_count must be 1, 3, 5 or 7."
  }
}

variable "consul_address" {
  type        = string
  default     = ""
  description = "Consul server that Vault registers its service with; handed on to Salt as an output."
}

variable "volume_size" {
  type        = number
  default     = 10
  description = "Size of each server's data volume in GiB."

  validation {
    condition     = var.volume_size >= 1 && var.volume_size <= 16384 && floor(var.volume_size) == var.volume_size
    error_message = "volume_size must be a whole number from 1 to 16384."
  }
}

variable "termination_protection" {
  type        = bool
  default     = false
  description = "Make the API refuse to terminate the servers until this is switched off again."
}

variable "instance_type" {
  type        = string
  default     = "t3.micro"
  description = "Size of a host."
}

variable "image_name" {
  type        = string
  default     = "debian-12-amd64-*"
  description = "Name pattern of the image; the newest that matches is taken for new hosts, running ones keep theirs."
}

variable "image_owner" {
  type        = string
  default     = "000000000000"
  description = "Account that owns the image. The default is Hive's own; Debian's on AWS is 136693071363."

  validation {
    condition     = can(regex("^([0-9]{12}|self|amazon|aws-marketplace)$", var.image_owner))
    error_message = "image_owner must be an account number of 12 digits (quoted, it may start with zeros) or self, amazon, aws-marketplace."
  }
}

variable "key_name" {
  type        = string
  default     = null
  description = "Name of an existing key pair for SSH; none by default."
}

variable "user_data" {
  type        = string
  default     = null
  description = "Cloud-init user data of every new host."
}

variable "salt_master" {
  type        = string
  default     = "salt"
  description = "Where the hosts' Salt minions find their master."

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9.:-]*$", var.salt_master))
    error_message = "salt_master must be a host name or an address, with a port behind a colon if it isn't 4506."
  }
}

variable "minions" {
  type        = list(string)
  default     = []
  description = "Hosts, by name, that become Salt minions with their name as id; a component's `minions` in pillar sets it."

  validation {
    condition     = length(distinct(var.minions)) == length(var.minions)
    error_message = "minions must name every host once."
  }
}

variable "minion_tokens" {
  type        = map(string)
  default     = {}
  sensitive   = true
  description = "One-time token that lets each minion in, by its id; made anew for every plan."
}
