"""Proxmox VE on your desk."""
