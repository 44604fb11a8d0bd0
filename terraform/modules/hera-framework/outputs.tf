output "address" {
  description = "Private address of the first host."
  value       = aws_instance.app[0].private_ip
}

output "addresses" {
  description = "Private addresses of all hosts."
  value       = aws_instance.app[*].private_ip
}

output "hosts" {
  description = "Private address of each host by its name."
  value       = { for host in aws_instance.app : host.tags.Name => host.private_ip }
}

output "instance_ids" {
  description = "Instance of each host by its name."
  value       = { for host in aws_instance.app : host.tags.Name => host.id }
}

output "security_group_id" {
  description = "Security group of the hosts."
  value       = aws_security_group.this.id
}

output "port" {
  description = "Port that the application listens on."
  value       = var.port
}

output "consul_address" {
  description = "Consul server that the application is registered with."
  value       = var.consul_address
}

output "minions" {
  description = "Instance of each Salt minion by its id."
  value       = { for host in aws_instance.app : host.tags.Name => host.id if contains(var.minions, host.tags.Name) }

  precondition {
    condition     = length(setsubtract(var.minions, local.names)) == 0
    error_message = "minions must be among the hosts: ${join(", ", local.names)}."
  }
}
