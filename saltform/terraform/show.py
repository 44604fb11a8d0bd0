"""terraform show: a saved plan or the present state as JSON, values included.

It loads the schemas of all providers, so it is run at most once for a plan. What it returns is not masked: it is
judged, and whoever shows parts of it masks them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from saltform.terraform.command import arguments, flag
from saltform.terraform.session import Session, run_json


def argv(plan: Path | None = None) -> list[str]:
    return arguments("show", *([str(plan)] if plan else []), json=flag(True))


def run(session: Session, plan: Path | None = None) -> dict[str, Any]:
    """The plan in that file, or the state if none is given."""
    return run_json(session, argv(plan))
