"""The tables of docs/hive.md, made of the code; `python -m hive_emulator.tables docs/hive.md` writes them anew."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from hive_emulator.action import registry
from hive_emulator.ec2 import dependencies, limits
from hive_emulator.ec2 import filters as known_filters
from hive_emulator.emulator import load_actions


def actions() -> str:
    """Every action, by the file that it is in."""
    families: dict[str, list[str]] = {}
    for (service, action), behaviour in _registry().items():
        family = behaviour.__module__.rpartition(".")[2] if service == "ec2" else service
        families.setdefault(family.replace("_", " "), []).append(action)
    rows = [
        f"| {family} | {', '.join(f'`{name}`' for name in sorted(names))} |"
        for family, names in sorted(families.items())
    ]
    return _table(["family", "actions"], rows)


def filters() -> str:
    """The filters of each call that has some, those that every call knows left out."""
    _registry()
    rows = [
        f"| `{action}` | {', '.join(f'`{name}`' for name in sorted(known)) or 'tags only'} |"
        for action, known in sorted(known_filters.TABLES.items())
    ]
    return _table(["call", "filters"], rows)


def _registry() -> Mapping[tuple[str, str], Callable[..., object]]:
    load_actions()
    return registry()


def holds() -> str:
    """What holds what."""
    rows = [f"| {line.held} | {line.by} | `{line.code}` |" for line in dependencies.TABLE]
    return _table(["this", "can't go while there is", "error"], rows)


def quotas() -> str:
    """Names for --quota."""
    shown = limits.QUOTAS.items()
    rows = [f"| `{name}` | {text} | {'none' if number is None else number} |" for name, (number, text) in shown]
    return _table(["quota", "counts", "unless set"], rows)


def _table(heads: list[str], rows: Iterable[str]) -> str:
    return "\n".join([f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *rows, ""])


PARTS: dict[str, Callable[[], str]] = {"actions": actions, "filters": filters, "holds": holds, "quotas": quotas}


def renewed(text: str) -> str:
    """The page with each generated part made anew."""
    for name, make in PARTS.items():
        start, end = f"<!-- generated: {name} -->\n", f"<!-- end: {name} -->"
        before, found, rest = text.partition(start)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise SystemExit(f"the page lacks the marks '{start.strip()}' and '{end}'")
        text = before + start + make() + end + after
    return text


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")
