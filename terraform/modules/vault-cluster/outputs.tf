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

output "volume_ids" {
  description = "Data volume of each server by the server's name."
  value       = { for index, host in aws_instance.server : host.tags.Name => aws_ebs_volume.data[index].id }
}

output "data_device" {
  description = "Device under which a server sees its data volume."
  value       = "/dev/xvdf"
}

output "consul_address" {
  description = "Consul server that Vault registers with."
  value       = var.consul_address
}

output "minions" {
  description = "Instance of each Salt minion by its id."
  value       = { for host in aws_instance.server : host.tags.Name => host.id if contains(var.minions, host.tags.Name) }

  precondition {
    condition     = length(setsubtract(var.minions, local.names)) == 0
    error_message = "minions must be among the hosts: ${join(", ", local.names)}."
  }
}
