"""terraform state: show, rm, mv, pull and push, for the person who has to mend or move a state."""

from __future__ import annotations

import json
from pathlib import Path

from saltform.terraform.command import arguments, flag
from saltform.terraform.session import Session, run_text


def show_argv(address: str) -> list[str]:
    return arguments("state show", address, no_color=flag(True))


def rm_argv(address: str) -> list[str]:
    return arguments("state rm", address)


def mv_argv(source: str, destination: str) -> list[str]:
    return arguments("state mv", source, destination)


def push_argv(path: Path, *, force: bool = False) -> list[str]:
    return arguments("state push", str(path), force=flag(force))


def pull_argv() -> list[str]:
    return arguments("state pull")


def pull(session: Session) -> bytes:
    """The state as the backend has it; nothing where there is none. Never in the log: it holds values."""
    text = "\n".join(run_text(session, pull_argv(), quiet=True).stdout)
    if not text.strip():
        return b""
    return text[: json.JSONDecoder().raw_decode(text)[1]].encode() + b"\n"  # newer versions print warnings after it


def show(session: Session, address: str) -> str:
    """One resource as terraform shows it to people; sensitive attributes are hidden by it."""
    return "\n".join(run_text(session, show_argv(address), quiet=True).stdout)


def rm(session: Session, address: str) -> list[str]:
    """Forget a resource without destroying it. What terraform said, line by line."""
    return list(run_text(session, rm_argv(address)).stdout)


def mv(session: Session, source: str, destination: str) -> list[str]:
    """Give a resource another address without touching it."""
    return list(run_text(session, mv_argv(source, destination)).stdout)


def push(session: Session, path: Path, *, force: bool = False) -> list[str]:
    """Store a state. Terraform refuses one of another lineage and an older one than is stored, unless forced."""
    return list(run_text(session, push_argv(path, force=force)).stdout)
