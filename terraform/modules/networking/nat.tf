# With `nat` the clusters live in private subnets that reach out through one NAT gateway.
# The private half of the address range starts in the middle, so zones can be added on both sides.

resource "aws_subnet" "private" {
  count = var.nat ? var.zone_count : 0

  vpc_id            = aws_vpc.this.id
  cidr_block        = cidrsubnet(var.cidr, var.subnet_bits, pow(2, var.subnet_bits - 1) + count.index)
  availability_zone = local.zones[count.index]

  tags = { Name = "${var.name}-private-${count.index + 1}" }
}

# Neither `vpc = true` (gone in provider 6) nor `domain` (unknown to 3.39) is written: a VPC address is the default.
resource "aws_eip" "nat" {
  count = var.nat ? 1 : 0

  tags = { Name = "${var.name}-nat" }

  depends_on = [aws_internet_gateway.this]
}

resource "aws_nat_gateway" "this" {
  count = var.nat ? 1 : 0

  allocation_id = aws_eip.nat[0].id
  subnet_id     = aws_subnet.public[0].id

  tags = { Name = var.name }
}

resource "aws_route_table" "private" {
  count = var.nat ? 1 : 0

  vpc_id = aws_vpc.this.id

  tags = { Name = "${var.name}-private" }
}

resource "aws_route" "nat" {
  count = var.nat ? 1 : 0

  route_table_id         = aws_route_table.private[0].id
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = aws_nat_gateway.this[0].id
}

resource "aws_route_table_association" "private" {
  count = var.nat ? var.zone_count : 0

  subnet_id      = aws_subnet.private[count.index].id
  route_table_id = aws_route_table.private[0].id
}
