output "vpc_id" {
  description = "The VPC."
  value       = aws_vpc.this.id
}

output "cidr" {
  description = "Address range of the VPC."
  value       = aws_vpc.this.cidr_block
}

output "zones" {
  description = "The availability zones in use, in order."
  value       = local.zones
}

output "subnet_ids" {
  description = "Where clusters live, one subnet per zone: private with `nat`, else public."
  value       = var.nat ? aws_subnet.private[*].id : aws_subnet.public[*].id

  # A host started in a subnet that has no way out yet could not install anything.
  depends_on = [
    aws_route.internet, aws_route.nat, aws_route_table_association.public, aws_route_table_association.private,
  ]
}

output "public_subnet_ids" {
  description = "Subnets that the internet can reach, one per zone."
  value       = aws_subnet.public[*].id

  depends_on = [aws_route.internet, aws_route_table_association.public]
}

output "internet_gateway_id" {
  description = "The internet gateway."
  value       = aws_internet_gateway.this.id
}

output "nat_address" {
  description = "Address that outgoing traffic of private subnets comes from; empty without `nat`."
  value       = var.nat ? aws_eip.nat[0].public_ip : ""
}
