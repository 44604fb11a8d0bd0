variable "name" {
  type        = string
  description = "Name of the cluster and prefix of its hosts, e.g. `staging-hecate`."

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

variable "node_count" {
  type        = number
  default     = 1
  description = "How many proxies, each with its own public address."

  validation {
    condition     = var.node_count >= 1 && var.node_count <= 20 && floor(var.node_count) == var.node_count
    error_message = "node_count must be a whole number from 1 to 20."
  }
}

variable "allowed_cidrs" {
  type        = list(string)
  default     = ["0.0.0.0/0"]
  description = "Who may reach port 443."

  validation {
    condition     = length(var.allowed_cidrs) > 0 && alltrue([for cidr in var.allowed_cidrs : can(cidrhost(cidr, 0))])
    error_message = "allowed_cidrs must hold at least one IPv4 range such as 0.0.0.0/0."
  }
}

variable "upstreams" {
  type = list(object({
    name        = string
    port        = number
    addresses   = optional(list(string), [])
    health_path = optional(string, "/health")
  }))
  default     = []
  description = "What is proxied. Addresses of the upstreams called `hera` and `boundary` come from the variables below."

  validation {
    condition     = alltrue([for item in var.upstreams : can(regex("^[a-z][a-z0-9-]*$", item.name))])
    error_message = "Each upstream's name must hold only lowercase letters, digits and hyphens: it becomes a host name."
  }

  validation {
    condition     = length(distinct(var.upstreams[*].name)) == length(var.upstreams)
    error_message = "Two upstreams have the same name."
  }

  validation {
    condition     = alltrue([for item in var.upstreams : item.port >= 1 && item.port <= 65535])
    error_message = "Each upstream's port must be from 1 to 65535."
  }

  validation {
    condition     = alltrue([for item in var.upstreams : can(regex("^/[^[:space:]]*$", item.health_path))])
    error_message = "Each upstream's health_path must start with / and hold no blanks."
  }

  validation {
    condition = alltrue([
      for item in var.upstreams : contains(["hera", "boundary"], item.name) || length(item.addresses) > 0
    ])
    error_message = "An upstream that is neither hera nor boundary must bring its addresses."
  }
}

variable "hera_addresses" {
  type        = list(string)
  default     = []
  description = "Addresses of the upstream called `hera`."
}

variable "boundary_addresses" {
  type        = list(string)
  default     = []
  description = "Addresses of the upstream called `boundary`."
}

variable "health_check" {
  type = object({
    interval = optional(number, 10)
    timeout  = optional(number, 2)
    failures = optional(number, 3)
  })
  default     = {}
  description = "How upstreams are watched: seconds between checks, seconds to answer, failures until one is out."

  validation {
    condition     = var.health_check.timeout > 0 && var.health_check.timeout < var.health_check.interval
    error_message = "health_check.timeout must be above 0 and shorter than health_check.interval."
  }

  validation {
    condition     = var.health_check.failures >= 1 && floor(var.health_check.failures) == var.health_check.failures
    error_message = "health_check.failures must be a whole number of at least 1."
  }
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
