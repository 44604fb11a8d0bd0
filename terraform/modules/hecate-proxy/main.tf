locals {
  addresses = { hera = var.hera_addresses, boundary = var.boundary_addresses }

  upstreams = [
    for item in var.upstreams : merge(item, {
      addresses = length(item.addresses) > 0 ? item.addresses : local.addresses[item.name]
    })
  ]
}

data "aws_ami" "image" {
  most_recent = true
  owners      = [var.image_owner]

  filter {
    name   = "name"
    values = [var.image_name]
  }

  filter {
    name   = "virtualization-type"
    values = ["hvm"]
  }
}

resource "aws_security_group" "this" {
  name        = var.name
  description = "Hecate reverse proxies"
  vpc_id      = var.vpc_id

  ingress {
    description = "HTTPS"
    from_port   = 443
    to_port     = 443
    protocol    = "tcp"
    cidr_blocks = var.allowed_cidrs
  }

  egress {
    description = "out"
    from_port   = 0
    to_port     = 0
    protocol    = "-1"
    cidr_blocks = ["0.0.0.0/0"]
  }

  tags = { Name = var.name }
}

resource "aws_instance" "proxy" {
  count = var.node_count

  ami                    = data.aws_ami.image.id
  instance_type          = var.instance_type
  subnet_id              = element(var.subnet_ids, count.index)
  vpc_security_group_ids = [aws_security_group.this.id]
  key_name               = var.key_name
  user_data              = var.user_data

  metadata_options {
    http_endpoint = "enabled"
    http_tokens   = "required"
  }

  tags = { Name = "${var.name}-${count.index + 1}" }

  lifecycle {
    # A newer image must not replace hosts that run.
    ignore_changes = [ami]
  }
}

# Neither `vpc = true` (gone in provider 6) nor `domain` (unknown to 3.39) is written: a VPC address is the default.
resource "aws_eip" "proxy" {
  count = var.node_count

  instance = aws_instance.proxy[count.index].id

  tags = { Name = "${var.name}-${count.index + 1}" }
}
