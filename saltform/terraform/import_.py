"""terraform import: take something that exists into the state, under an address that the configuration has."""

from __future__ import annotations

from saltform.terraform.command import arguments, flag
from saltform.terraform.session import Session, run_text


def argv(address: str, resource_id: str) -> list[str]:
    return arguments("import", address, resource_id, input=False, no_color=flag(True))


def run(session: Session, address: str, resource_id: str) -> list[str]:
    """What terraform said, line by line."""
    return list(run_text(session, argv(address, resource_id)).stdout)
