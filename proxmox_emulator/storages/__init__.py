"""Storages, their volumes and files."""
