"""terraform force-unlock: release a state lock whose holder is dead. Who is dead is decided by the caller."""

from __future__ import annotations

from saltform.terraform.command import arguments, flag
from saltform.terraform.session import Session, run_text


def argv(lock_id: str) -> list[str]:
    return arguments("force-unlock", lock_id, force=flag(True))


def run(session: Session, lock_id: str) -> list[str]:
    """What terraform said, line by line. A lock that is not there is a TerraformError."""
    return list(run_text(session, argv(lock_id)).stdout)
