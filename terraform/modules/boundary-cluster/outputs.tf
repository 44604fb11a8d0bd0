output "address" {
  description = "Private address of the first controller."
  value       = aws_instance.controller[0].private_ip
}

output "addresses" {
  description = "Private addresses of all controllers."
  value       = aws_instance.controller[*].private_ip
}

output "hosts" {
  description = "Private address of each controller by its name."
  value       = { for host in aws_instance.controller : host.tags.Name => host.private_ip }
}

output "instance_ids" {
  description = "Instance of each controller by its name."
  value       = { for host in aws_instance.controller : host.tags.Name => host.id }
}

output "security_group_id" {
  description = "Security group of the controllers."
  value       = aws_security_group.controller.id
}

output "worker_addresses" {
  description = "Private addresses of all workers."
  value       = aws_instance.worker[*].private_ip
}

output "worker_hosts" {
  description = "Private address of each worker by its name."
  value       = { for host in aws_instance.worker : host.tags.Name => host.private_ip }
}

output "worker_instance_ids" {
  description = "Instance of each worker by its name."
  value       = { for host in aws_instance.worker : host.tags.Name => host.id }
}

output "worker_security_group_id" {
  description = "Security group of the workers."
  value       = aws_security_group.worker.id
}

output "vault_address" {
  description = "Vault server that holds the keys."
  value       = var.vault_address
}

output "minions" {
  description = "Instance of each Salt minion by its id."
  value       = { for host in concat(aws_instance.controller, aws_instance.worker) : host.tags.Name => host.id if contains(var.minions, host.tags.Name) }

  precondition {
    condition     = length(setsubtract(var.minions, local.names)) == 0
    error_message = "minions must be among the hosts: ${join(", ", local.names)}."
  }
}
