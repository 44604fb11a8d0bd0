variable "endpoint" {
  type        = string
  default     = "https://127.0.0.1:9999"
  description = "Where Hive's AWS-compatible API listens."

  validation {
    condition     = can(regex("^https?://", var.endpoint))
    error_message = "endpoint must be a URL such as https://127.0.0.1:9999."
  }
}

variable "region" {
  type        = string
  default     = "ap-southeast-2"
  description = "Region of all resources."
}
