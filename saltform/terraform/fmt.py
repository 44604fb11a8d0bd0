"""terraform fmt: which files are not written in the canonical form. It only checks, it rewrites nothing."""

from __future__ import annotations

from pathlib import Path

from saltform.terraform.command import arguments, flag
from saltform.terraform.session import Session, run_text

FORMATTED, NOT_FORMATTED = 0, 3


def argv(folder: Path) -> list[str]:
    return arguments("fmt", str(folder), check=flag(True), no_color=flag(True), recursive=flag(True))


def run(session: Session, folder: Path) -> list[str]:
    """The files that would be rewritten, as terraform names them."""
    finished = run_text(session, argv(folder), accept=(FORMATTED, NOT_FORMATTED))
    return sorted(line for line in finished.stdout if line.strip())
