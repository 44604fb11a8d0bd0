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
  description = "Consul servers"
  vpc_id      = var.vpc_id

  ingress {
    description = "server RPC"
    from_port   = 8300
    to_port     = 8300
    protocol    = "tcp"
    cidr_blocks = [var.cidr]
  }

  ingress {
    description = "gossip"
    from_port   = 8301
    to_port     = 8302
    protocol    = "tcp"
    cidr_blocks = [var.cidr]
  }

  ingress {
    description = "gossip"
    from_port   = 8301
    to_port     = 8302
    protocol    = "udp"
    cidr_blocks = [var.cidr]
  }

  ingress {
    description = "HTTP, HTTPS and gRPC API"
    from_port   = 8500
    to_port     = 8503
    protocol    = "tcp"
    cidr_blocks = [var.cidr]
  }

  ingress {
    description = "DNS"
    from_port   = 8600
    to_port     = 8600
    protocol    = "tcp"
    cidr_blocks = [var.cidr]
  }

  ingress {
    description = "DNS"
    from_port   = 8600
    to_port     = 8600
    protocol    = "udp"
    cidr_blocks = [var.cidr]
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

# Hosts of one cluster don't share a machine underneath.
resource "aws_placement_group" "this" {
  name     = var.name
  strategy = "spread"

  tags = { Name = var.name }
}

resource "aws_instance" "server" {
  count = var.node_count

  ami                    = data.aws_ami.image.id
  instance_type          = var.instance_type
  subnet_id              = element(var.subnet_ids, count.index)
  vpc_security_group_ids = [aws_security_group.this.id]
  placement_group        = aws_placement_group.this.id
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
