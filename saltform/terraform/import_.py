"""terraform import: take something that exists into the state, under an address that the configuration has."""

from __future__ import annotations

from saltform.terraform.command import arguments, flag, unless_default
from saltform.terraform.session import Session, run_text


def argv(address: str, resource_id: str, *, lock: bool = True, parallelism: int | None = None) -> list[str]:
    return arguments(
        "import",
        address,
        resource_id,
        input=False,
        no_color=flag(True),
        lock=unless_default(lock, True),
        parallelism=parallelism,
    )


def run(
    session: Session, address: str, resource_id: str, *, lock: bool = True, parallelism: int | None = None
) -> list[str]:
    """What terraform said, line by line."""
    words = argv(address, resource_id, lock=lock, parallelism=parallelism)
    return list(run_text(session, words).stdout)
