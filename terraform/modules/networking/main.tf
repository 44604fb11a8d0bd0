data "aws_availability_zones" "available" {
  state = "available"
}

locals {
  zones = slice(sort(data.aws_availability_zones.available.names), 0, var.zone_count)
}

resource "aws_vpc" "this" {
  cidr_block = var.cidr

  tags = { Name = var.name }

  lifecycle {
    precondition {
      condition     = tonumber(split("/", var.cidr)[1]) + var.subnet_bits <= 28
      error_message = "cidr ${var.cidr} with subnet_bits ${var.subnet_bits} makes subnets smaller than /28: lower subnet_bits."
    }
  }
}

resource "aws_internet_gateway" "this" {
  vpc_id = aws_vpc.this.id

  tags = { Name = var.name }
}

resource "aws_subnet" "public" {
  count = var.zone_count

  vpc_id                  = aws_vpc.this.id
  cidr_block              = cidrsubnet(var.cidr, var.subnet_bits, count.index)
  availability_zone       = local.zones[count.index]
  map_public_ip_on_launch = var.public_addresses

  tags = { Name = "${var.name}-public-${count.index + 1}" }
}

resource "aws_route_table" "public" {
  vpc_id = aws_vpc.this.id

  tags = { Name = "${var.name}-public" }
}

resource "aws_route" "internet" {
  route_table_id         = aws_route_table.public.id
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.this.id
}

resource "aws_route_table_association" "public" {
  count = var.zone_count

  subnet_id      = aws_subnet.public[count.index].id
  route_table_id = aws_route_table.public.id
}
