variable "name" {
  type        = string
  description = "Name of the cluster and prefix of its hosts, e.g. `staging-backups`."

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,61}$", var.name))
    error_message = "name must start with a letter and hold only lowercase letters, digits and hyphens (62 at most)."
  }
}

variable "zones" {
  type        = list(string)
  description = "Availability zones to choose from; the repository lives in the last, away from what stands in the first."

  validation {
    condition     = length(var.zones) > 0
    error_message = "zones must name at least one availability zone."
  }
}

variable "volume_size" {
  type        = number
  default     = 10
  description = "Size of the repository volume in GiB."

  validation {
    condition     = var.volume_size >= 1 && var.volume_size <= 16384 && floor(var.volume_size) == var.volume_size
    error_message = "volume_size must be a whole number from 1 to 16384."
  }
}

variable "volume_ids" {
  type        = map(string)
  default     = {}
  description = "Volumes to take snapshots of, by the name of the host they belong to."
}

variable "addresses" {
  type        = map(string)
  default     = {}
  description = "Hosts whose files are fetched into the repository: name to address; handed on to Salt as an output."
}

variable "generation" {
  type        = string
  default     = "1"
  description = "Change it (a date, a number) to take new snapshots; the old ones go once the new ones are complete."

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]{1,64}$", var.generation))
    error_message = "generation must be 1 to 64 letters, digits, dots, underscores or hyphens."
  }
}
