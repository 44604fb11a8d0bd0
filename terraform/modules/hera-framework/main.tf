locals {
  names = [for index in range(var.node_count) : "${var.name}-${index + 1}"]

  # A host among the minions is made one by cloud-init, which also does what user_data says.
  user_data = {
    for name in local.names : name => !contains(var.minions, name) ? var.user_data : join("\n", [
      "#cloud-config-archive", jsonencode(compact([local.minion[name], var.user_data])),
    ])
  }

  minion = {
    for id in var.minions : id => join("\n", ["#cloud-config", jsonencode({
      salt_minion = {
        conf   = { id = id, master = var.salt_master, autosign_grains = ["saltform_token"], rejected_retry = true }
        grains = { saltform_token = var.minion_tokens[id] }
      }
    })])
  }
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
  description = "Hera application hosts"
  vpc_id      = var.vpc_id

  ingress {
    description = "application"
    from_port   = var.port
    to_port     = var.port
    protocol    = "tcp"
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

resource "aws_instance" "app" {
  count = var.node_count

  ami                    = data.aws_ami.image.id
  instance_type          = var.instance_type
  subnet_id              = element(var.subnet_ids, count.index)
  vpc_security_group_ids = [aws_security_group.this.id]
  key_name               = var.key_name
  user_data              = local.user_data[local.names[count.index]]

  metadata_options {
    http_endpoint = "enabled"
    http_tokens   = "required"
  }

  tags = { Name = local.names[count.index] }

  lifecycle {
    # Neither a newer image nor a new token must replace hosts that run.
    ignore_changes = [ami, user_data]
  }
}
