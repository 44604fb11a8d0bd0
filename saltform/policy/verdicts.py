"""What a rule says about a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

DENY, APPROVE, WARN = "deny", "approve", "warn"


@dataclass(frozen=True)
class Verdict:
    """One finding: which rule, how severe, about what, and why."""

    rule: str
    level: str
    address: str
    why: str

    def as_dict(self) -> dict[str, str]:
        return {"rule": self.rule, "level": self.level, "address": self.address, "why": self.why}


class NoVerdict(Exception):
    """A rule gave something that is no list of findings."""


def verdicts(rule: str, level: str, found: Any) -> Iterator[Verdict]:
    """What a rule returned: nothing, a text, or any number of texts and of mappings with `why` and `address`."""
    if found is None or found is False:
        return
    if found is True:
        yield Verdict(rule, level, "", f"says {level}")
        return
    if isinstance(found, str | Mapping):
        found = [found]
    if not isinstance(found, Iterable):
        raise NoVerdict(f"{level} gave {type(found).__name__}, expected a list of texts or of mappings with `why`")
    for item in found:
        if isinstance(item, str):
            yield Verdict(rule, level, "", item)
        elif isinstance(item, Mapping) and isinstance(item.get("why"), str):
            yield Verdict(rule, level, str(item.get("address", "")), item["why"])
        else:
            raise NoVerdict(f"{level} gave {type(item).__name__}, expected a text or a mapping with `why`")
