"""Saltform's engine: runs one Terraform root per component, in the right order. It does not import salt."""

__version__ = "0.1.0"
