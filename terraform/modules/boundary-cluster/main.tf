locals {
  controllers = [for index in range(var.node_count) : "${var.name}-controller-${index + 1}"]
  workers     = [for index in range(var.worker_count) : "${var.name}-worker-${index + 1}"]
  names       = concat(local.controllers, local.workers)

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

resource "aws_security_group" "controller" {
  name        = "${var.name}-controller"
  description = "Boundary controllers"
  vpc_id      = var.vpc_id

  ingress {
    description = "API and UI"
    from_port   = 9200
    to_port     = 9200
    protocol    = "tcp"
    cidr_blocks = [var.cidr]
  }

  ingress {
    description     = "workers"
    from_port       = 9201
    to_port         = 9201
    protocol        = "tcp"
    security_groups = [aws_security_group.worker.id]
  }

  ingress {
    description = "between controllers"
    from_port   = 9201
    to_port     = 9201
    protocol    = "tcp"
    self        = true
  }

  egress {
    description = "out"
    from_port   = 0
    to_port     = 0
    protocol    = "-1"
    cidr_blocks = ["0.0.0.0/0"]
  }

  tags = { Name = "${var.name}-controller" }
}

resource "aws_security_group" "worker" {
  name        = "${var.name}-worker"
  description = "Boundary workers"
  vpc_id      = var.vpc_id

  ingress {
    description = "sessions"
    from_port   = 9202
    to_port     = 9202
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

  tags = { Name = "${var.name}-worker" }
}

# Hosts of one cluster don't share a machine underneath.
resource "aws_placement_group" "this" {
  name     = var.name
  strategy = "spread"

  tags = { Name = var.name }
}

resource "aws_instance" "controller" {
  count = var.node_count

  ami                    = data.aws_ami.image.id
  instance_type          = var.instance_type
  subnet_id              = element(var.subnet_ids, count.index)
  vpc_security_group_ids = [aws_security_group.controller.id]
  placement_group        = aws_placement_group.this.id
  key_name               = var.key_name
  user_data              = local.user_data[local.controllers[count.index]]

  metadata_options {
    http_endpoint = "enabled"
    http_tokens   = "required"
  }

  tags = { Name = local.controllers[count.index] }

  lifecycle {
    # Neither a newer image nor a new token must replace hosts that run.
    ignore_changes = [ami, user_data]
  }
}

resource "aws_instance" "worker" {
  count = var.worker_count

  ami                    = data.aws_ami.image.id
  instance_type          = var.instance_type
  subnet_id              = element(var.subnet_ids, count.index)
  vpc_security_group_ids = [aws_security_group.worker.id]
  key_name               = var.key_name
  user_data              = local.user_data[local.workers[count.index]]

  metadata_options {
    http_endpoint = "enabled"
    http_tokens   = "required"
  }

  tags = { Name = local.workers[count.index] }

  lifecycle {
    # Neither a newer image nor a new token must replace hosts that run.
    ignore_changes = [ami, user_data]
  }
}
