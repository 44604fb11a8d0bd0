output "address" {
  description = "Private address of the first server."
  value       = aws_instance.server[0].private_ip
}

output "addresses" {
  description = "Private addresses of all servers."
  value       = aws_instance.server[*].private_ip
}

output "hosts" {
  description = "Private address of each server by its name."
  value       = { for host in aws_instance.server : host.tags.Name => host.private_ip }
}

output "instance_ids" {
  description = "Instance of each server by its name."
  value       = { for host in aws_instance.server : host.tags.Name => host.id }
}

output "security_group_id" {
  description = "Security group of the servers."
  value       = aws_security_group.this.id
}

output "placement_group" {
  description = "Placement group that keeps the servers apart."
  value       = aws_placement_group.this.name
}

output "minions" {
  description = "Instance of each Salt minion by its id."
  value       = { for host in aws_instance.server : host.tags.Name => host.id if contains(var.minions, host.tags.Name) }

  precondition {
    condition     = length(setsubtract(var.minions, local.names)) == 0
    error_message = "minions must be among the hosts: ${join(", ", local.names)}."
  }
}
