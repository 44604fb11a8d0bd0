"""Terraform and OpenTofu: the binary, and a file for each command with a pure `argv()` and a `run()`."""
