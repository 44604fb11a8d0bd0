"""Terraform's states, read without terraform: what it would take seconds and a process to tell us."""

from saltform.tfstate.document import Head, Output, State, read
from saltform.tfstate.states import States

__all__ = ["Head", "Output", "State", "States", "read"]
