variable "name" {
  type        = string
  description = "Name tag of everything made here, e.g. `staging`."

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,61}$", var.name))
    error_message = "name must start with a letter and hold only lowercase letters, digits and hyphens (62 at most)."
  }
}

variable "cidr" {
  type        = string
  description = "Address range of the VPC, /16 to /24."

  validation {
    condition     = can(cidrhost(var.cidr, 0)) && can(regex("/(1[6-9]|2[0-4])$", var.cidr))
    error_message = "cidr must be an IPv4 range between /16 and /24, such as 10.20.0.0/16."
  }

  validation {
    condition     = try(cidrsubnet(var.cidr, 0, 0) == var.cidr, true) # what is no range at all is said above
    error_message = "cidr must be written with its network address: 10.20.0.0/16, not 10.20.3.4/16."
  }
}

variable "zone_count" {
  type        = number
  default     = 1
  description = "In how many availability zones subnets are made."

  validation {
    condition     = contains([1, 2, 3], var.zone_count)
    error_message = "zone_count must be 1, 2 or 3."
  }
}

variable "subnet_bits" {
  type        = number
  default     = 4
  description = "How many bits longer than the VPC's prefix a subnet's prefix is: 4 makes /20 out of /16."

  validation {
    condition     = contains([3, 4, 5, 6, 7, 8], var.subnet_bits)
    error_message = "subnet_bits must be between 3 and 8: three public and three private subnets must fit."
  }
}

variable "nat" {
  type        = bool
  default     = false
  description = "Put the clusters into private subnets behind one NAT gateway."
}

variable "public_addresses" {
  type        = bool
  default     = true
  description = "Give hosts in public subnets a public address; without one, and without `nat`, they can't reach out."
}
