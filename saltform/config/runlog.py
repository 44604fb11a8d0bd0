"""`infrastructure:runlog` and `locks`: a run log that isn't a file of this master, and when its holders are dead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from saltform.config.reader import Reader
from saltform.config.types import Environment
from saltform.errors import ConfigError, Problem

DEAD_AFTER, SHORTEST = 30.0, 1.0  # seconds
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


def dead_after(tree: Mapping[str, Any]) -> float:
    """Seconds without a sign of life after which a holder of locks counts as dead for other masters."""
    problems: list[Problem] = []
    reader = Reader(tree.get("locks"), "infrastructure:locks", problems)
    reader.only(("dead_after",))
    seconds = reader.seconds("dead_after", DEAD_AFTER)
    if seconds < SHORTEST:
        reader.problem("dead_after", reader.tree["dead_after"], f"at least {SHORTEST:g}s")
    if problems:
        raise ConfigError(problems)
    return seconds


def check_runlog(tree: Mapping[str, Any], environments: Iterable[Environment]) -> Iterable[Problem]:
    """A local state is on one master's disk: with a run log for several, it is refused."""
    try:
        address = runlog_address(tree)
        dead_after(tree)  # for its problems
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
