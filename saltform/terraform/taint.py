"""terraform taint and untaint: have a resource replaced by the next apply, or not after all."""

from __future__ import annotations

from saltform.terraform.command import arguments, flag, unless_default
from saltform.terraform.session import Session, run_text


def argv(address: str, *, undo: bool = False, allow_missing: bool = False, lock: bool = True) -> list[str]:
    return arguments(
        "untaint" if undo else "taint",
        address,
        allow_missing=flag(allow_missing),
        lock=unless_default(lock, True),
    )


def run(
    session: Session, address: str, *, undo: bool = False, allow_missing: bool = False, lock: bool = True
) -> list[str]:
    """What terraform said, line by line."""
    return list(run_text(session, argv(address, undo=undo, allow_missing=allow_missing, lock=lock)).stdout)
