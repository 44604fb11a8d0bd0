"""terraform taint and untaint: have a resource replaced by the next apply, or not after all."""

from __future__ import annotations

from saltform.terraform.command import arguments
from saltform.terraform.session import Session, run_text


def argv(address: str, *, undo: bool = False) -> list[str]:
    return arguments("untaint" if undo else "taint", address)


def run(session: Session, address: str, *, undo: bool = False) -> list[str]:
    """What terraform said, line by line."""
    return list(run_text(session, argv(address, undo=undo)).stdout)
