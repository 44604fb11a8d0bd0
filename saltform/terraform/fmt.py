"""terraform fmt: which files are not written in the canonical form. It only checks, it rewrites nothing."""

from __future__ import annotations

from pathlib import Path

from saltform.terraform.command import arguments, flag
from saltform.terraform.session import Session, run_text

FORMATTED, NOT_FORMATTED = 0, 3


def argv(folder: Path | None = None, *, recursive: bool = True) -> list[str]:
    words = [str(folder)] if folder else []
    return arguments("fmt", *words, check=flag(True), no_color=flag(True), recursive=flag(recursive))


def run(session: Session, folder: Path | None = None, *, recursive: bool = True) -> list[str]:
    """The files that would be rewritten, relative to the folder (by default the workspace)."""
    finished = run_text(session, argv(folder, recursive=recursive), accept=(FORMATTED, NOT_FORMATTED))
    return sorted(line for line in finished.stdout if line.strip())
