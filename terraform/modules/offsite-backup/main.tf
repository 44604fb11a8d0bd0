resource "aws_ebs_volume" "repository" {
  availability_zone = var.zones[length(var.zones) - 1]
  size              = var.volume_size
  type              = "gp3"
  encrypted         = true

  tags = { Name = "${var.name}-repository" }
}

# The description can't be changed in place: a new generation makes new snapshots, and only then drops the old ones.
resource "aws_ebs_snapshot" "volume" {
  for_each = var.volume_ids

  volume_id   = each.value
  description = "${var.name} ${each.key} generation ${var.generation}"

  tags = { Name = "${var.name}-${each.key}" }

  lifecycle {
    create_before_destroy = true
  }
}
