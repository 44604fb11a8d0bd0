output "volume_id" {
  description = "The repository volume."
  value       = aws_ebs_volume.repository.id
}

output "zone" {
  description = "Availability zone of the repository."
  value       = aws_ebs_volume.repository.availability_zone
}

output "snapshot_ids" {
  description = "Snapshot of each volume by the name of its host."
  value       = { for name, snapshot in aws_ebs_snapshot.volume : name => snapshot.id }
}

output "addresses" {
  description = "Hosts whose files are fetched: name to address."
  value       = var.addresses
}

output "generation" {
  description = "Which generation the snapshots are."
  value       = var.generation
}
