output "address" {
  description = "Private address of the first proxy."
  value       = aws_instance.proxy[0].private_ip
}

output "addresses" {
  description = "Private addresses of all proxies."
  value       = aws_instance.proxy[*].private_ip
}

output "hosts" {
  description = "Private address of each proxy by its name."
  value       = { for host in aws_instance.proxy : host.tags.Name => host.private_ip }
}

output "instance_ids" {
  description = "Instance of each proxy by its name."
  value       = { for host in aws_instance.proxy : host.tags.Name => host.id }
}

output "security_group_id" {
  description = "Security group of the proxies."
  value       = aws_security_group.this.id
}

output "public_addresses" {
  description = "Public address of each proxy by its name."
  value       = { for index, host in aws_instance.proxy : host.tags.Name => aws_eip.proxy[index].public_ip }
}

output "upstreams" {
  description = "What is proxied, with addresses filled in, for Salt to render."
  value       = local.upstreams
}

output "health_check" {
  description = "How upstreams are watched, for Salt to render."
  value       = var.health_check
}

output "minions" {
  description = "Instance of each Salt minion by its id."
  value       = { for host in aws_instance.proxy : host.tags.Name => host.id if contains(var.minions, host.tags.Name) }

  precondition {
    condition     = length(setsubtract(var.minions, local.names)) == 0
    error_message = "minions must be among the hosts: ${join(", ", local.names)}."
  }
}
