"""What every report is made of: counts, durations, summaries, and text that is safe to print."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from saltform.status import Status

# What a terminal would obey instead of print: a state or an error message can hold anything.
_CONTROL = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

HIDDEN = "(sensitive)"  # what stands wherever a value must not

SYMBOLS = {
    "create": "+",
    "update": "~",
    "delete": "-",
    "replace": "-/+",
    "read": "<=",
    "import": "<-",
    "move": "->",
    "upgrade": "^",
}


def clean(text: object) -> str:
    """Text without terminal escapes and other control characters; lines and tabs stay."""
    return _CONTROL.sub("", str(text).replace("\r\n", "\n"))


def counts(step: Mapping[str, Any]) -> str:
    """How many resources a step touches, as `+4 ~1 -2`; empty when none."""
    signs = (("add", "+"), ("change", "~"), ("destroy", "-"))
    return " ".join(f"{sign}{step[key]}" for key, sign in signs if step.get(key))


def symbol(action: str) -> str:
    """The sign that Terraform itself prints before an address."""
    return SYMBOLS.get(action, "?")


def duration(seconds: float | None) -> str:
    """`0.4 s`, `12.3 s`, `2 min 5 s`, `1 h 2 min`."""
    if seconds is None:
        return ""
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def size(count: float) -> str:
    """`512 B`, `1.2 MB`: as file managers say it."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError("the last unit fits everything")


def plural(count: int, noun: str) -> str:
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun if count == 1 else many}"


def tally(statuses: Iterable[str]) -> str:
    """`3 applied, 97 unchanged, 1 failed`: in the order of the words, never one for each component.

    Words that a drift check has for what it found come last.
    """
    found = Counter(str(status) for status in statuses)
    order = dict.fromkeys([*(status.value for status in Status), *found])
    return ", ".join(f"{found[word]} {word}" for word in order if found[word])


def summary(verb: str, environment: str, statuses: Iterable[str], seconds: float | None = None) -> str:
    """A whole run in a line: `deploy staging: 3 applied, 1 unchanged in 12.3 s`."""
    took = f" in {duration(seconds)}" if seconds is not None else ""
    return f"{verb} {environment}: {tally(statuses) or 'nothing to do'}{took}"
