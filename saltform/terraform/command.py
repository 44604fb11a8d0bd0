"""Argument lists, built by python-terraform; it starts no process here.

What its option handling does: `True`/`False` become `-x=true`/`-x=false`, a list repeats the option, `None`
leaves it out, `IsFlagged` writes it without a value. A dictionary would write a file with variables: refused.
"""

from __future__ import annotations

import functools
from typing import Any

from saltform.errors import SaltformError


class _Flag:
    """An option that is written without a value."""


FLAG = _Flag()


def arguments(command: str, *positional: str, **options: Any) -> list[str]:
    """`arguments("plan", input=False, target=["a.b"])` → `["plan", "-input=false", "-target=a.b"]`."""
    for value in positional:
        if value.startswith("-"):
            raise SaltformError("bad argument", f"{value!r} would be read as an option", "leave out the dash")
    builder, is_flagged = _python_terraform()
    given = {name: is_flagged if value is FLAG else _plain(name, value) for name, value in options.items()}
    return builder.generate_cmd_string(command, *positional, **given)[1:]


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        raise TypeError(f"{name}: variables go into the workspace, not on a command line")
    return list(value) if isinstance(value, tuple) else value


@functools.cache
def _python_terraform() -> tuple[Any, Any]:
    """The library, imported when the first command is built: a run with nothing to do builds none."""
    from python_terraform import IsFlagged, Terraform

    builder = Terraform.__new__(Terraform)  # its constructor reads a state file from the current folder
    builder.terraform_bin_path = ""
    return builder, IsFlagged


def flag(wanted: bool) -> _Flag | None:
    """An option without a value, written only if it is wanted."""
    return FLAG if wanted else None


def unless_default(value: Any, default: Any) -> Any:
    """An option that is written only if it differs from what terraform does anyway."""
    return None if value == default else value
