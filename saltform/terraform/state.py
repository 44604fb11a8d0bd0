"""terraform state: list, show, rm, mv, pull and push, for the person who has to mend or move a state."""

from __future__ import annotations

import json
from pathlib import Path

from saltform.terraform.command import arguments, flag, unless_default
from saltform.terraform.session import Session, run_text


def list_argv(*addresses: str, resource_id: str | None = None) -> list[str]:
    return arguments("state list", *addresses, id=resource_id)


def show_argv(address: str) -> list[str]:
    return arguments("state show", address, no_color=flag(True))


def rm_argv(*addresses: str, dry_run: bool = False, lock: bool = True) -> list[str]:
    return arguments("state rm", *addresses, dry_run=flag(dry_run), lock=unless_default(lock, True))


def mv_argv(source: str, destination: str, *, dry_run: bool = False, lock: bool = True) -> list[str]:
    return arguments("state mv", source, destination, dry_run=flag(dry_run), lock=unless_default(lock, True))


def push_argv(path: Path, *, lock: bool = True, force: bool = False) -> list[str]:
    return arguments("state push", str(path), lock=unless_default(lock, True), force=flag(force))


def pull_argv() -> list[str]:
    return arguments("state pull")


def pull(session: Session) -> bytes:
    """The state as the backend has it; nothing where there is none. Never in the log: it holds values."""
    text = "\n".join(run_text(session, pull_argv(), quiet=True).stdout)
    if not text.strip():
        return b""
    return text[: json.JSONDecoder().raw_decode(text)[1]].encode() + b"\n"  # newer versions print warnings after it


def list_(session: Session, *addresses: str, resource_id: str | None = None) -> list[str]:
    """The addresses of all resources, or of those below the given ones, or of the one with that id."""
    finished = run_text(session, list_argv(*addresses, resource_id=resource_id))
    return [line for line in finished.stdout if line]


def show(session: Session, address: str) -> str:
    """One resource as terraform shows it to people; sensitive attributes are hidden by it."""
    return "\n".join(run_text(session, show_argv(address), quiet=True).stdout)


def rm(session: Session, *addresses: str, dry_run: bool = False, lock: bool = True) -> list[str]:
    """Forget resources without destroying them. What terraform said, line by line."""
    return list(run_text(session, rm_argv(*addresses, dry_run=dry_run, lock=lock)).stdout)


def mv(session: Session, source: str, destination: str, *, dry_run: bool = False, lock: bool = True) -> list[str]:
    """Give a resource another address without touching it."""
    return list(run_text(session, mv_argv(source, destination, dry_run=dry_run, lock=lock)).stdout)


def push(session: Session, path: Path, *, force: bool = False) -> list[str]:
    """Store a state. Terraform refuses one of another lineage and an older one than is stored, unless forced."""
    return list(run_text(session, push_argv(path, force=force)).stdout)
