"""`infrastructure:runlog`: where the run log is, when it isn't a file of this master."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from saltform.config.types import Environment
from saltform.errors import ConfigError, Problem

SCHEMES = ("postgresql://", "postgres://")


def runlog_address(tree: Mapping[str, Any]) -> str:
    """The address in `infrastructure:`, or '' for this master's own file."""
    value = tree.get("runlog")
    if value is None:
        return ""
    if not isinstance(value, str) or not value.startswith(SCHEMES):
        # Never the value itself: there may be a password in it.
        expected = "postgresql://USER@HOST/DATABASE (without the key, the run log is a file of this master)"
        raise ConfigError([Problem("infrastructure:runlog", f"another {type(value).__name__}", expected)])
    return value


def check_runlog(tree: Mapping[str, Any], environments: Iterable[Environment]) -> Iterable[Problem]:
    """A local state is on one master's disk: with a run log for several, it is refused."""
    try:
        address = runlog_address(tree)
    except ConfigError as error:
        return error.problems
    if not address:
        return []
    why = "the run log is in PostgreSQL for several masters, and a local state is on the disk of one"
    return [
        Problem(f"{component.path}:backend", "local", f"one that every master reaches, such as s3 or pg: {why}")
        for environment in environments
        for component in environment.components.values()
        if component.backend.type == "local"
    ]
