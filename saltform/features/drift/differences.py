"""What drift means: reality differs from the state. Pure: a plan's JSON in, differences out.

1. A refresh-only plan says of each resource what the state has and what is really there. Both are walked together:
   mappings by key, a block that is there once by its attributes, other lists by what left them and what came.
   Nothing and empty are the same (providers write null as "" or [] once they have read it).
2. `tags_all` of the aws provider repeats `tags` and adds the provider's default tags: what `tags` says already is
   not said twice.
3. A difference of an attribute that the module sets is drift. So is one that the module could set and leaves alone
   (a tag added by hand is taken away by the next apply). One that nobody set and the provider computes is not: it is
   kept apart as `computed`. A list in another order is `reordered`. Nothing that is sensitive is in any of them.
4. Ignore rules take differences away, and say how many.
5. Compared with what was found before, a difference is new, known (acknowledged, until a date) or resolved. A known
   one whose reality has changed once more is new.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from saltform.report.words import HIDDEN
from saltform.runlog.drift import Finding
from saltform.workspace.root import address_in_module

DRIFT, COMPUTED, REORDERED = "drift", "computed", "reordered"
_INDEX = re.compile(r'\["(?:[^"\\]|\\.)*"\]|\[\d+\]')
_EXPRESSION = {"references", "constant_value"}

Step = str | int
Computes = Callable[
    [str, str], bool
]  # (resource type, dotted attribute) → the provider computes it if nobody sets it


@dataclass(frozen=True)
class Difference:
    """One attribute that is not as the state says; without an attribute: the resource is gone."""

    address: str
    attribute: str
    before: Any
    after: Any
    kind: str = DRIFT

    @property
    def name(self) -> str:
        return f"{self.address}.{self.attribute}" if self.attribute else self.address


def differences(document: Mapping[str, Any], computes: Computes, dynamic: Collection[str] = ()) -> list[Difference]:
    """All differences in the JSON of a refresh-only plan.

    `dynamic` are the blocks that the module writes with `dynamic` (TYPE.NAME.BLOCK): a plan doesn't show them.
    """
    found: list[Difference] = []
    for drifted in document.get("resource_drift", ()):
        address = address_in_module(drifted["address"])
        change = drifted["change"]
        if "delete" in change["actions"]:
            found.append(Difference(address, "", "there", "gone"))
            continue
        written = _expressions(document, drifted)
        leaves = list(
            _walk(change["before"], change["after"], change["before_sensitive"], change["after_sensitive"], ())
        )
        tags = {path[1] for path, *_ in leaves if path[0] == "tags" and len(path) > 1}
        for path, before, after, reordered in leaves:
            if path[0] == "tags_all" and (len(path) == 1 or path[1] in tags):
                continue
            names = ".".join(step for step in path if isinstance(step, str))
            ours = (
                path[0] == "tags_all"
                or f"{drifted['type']}.{drifted['name']}.{path[0]}" in dynamic
                or _is_set(written, path)
                or not computes(drifted["type"], names)
            )
            kind = REORDERED if reordered else DRIFT if ours else COMPUTED
            found.append(Difference(address, _dotted(path), before, after, kind))
    return found


def split_ignored(found: Iterable[Difference], rules: Sequence[str]) -> tuple[list[Difference], dict[str, int]]:
    """What is left when the rules have been followed, and how much each rule hid."""
    patterns = [(rule, _pattern(rule)) for rule in rules]
    hidden: Counter[str] = Counter()
    left = []
    for difference in found:
        rule = next((rule for rule, pattern in patterns if pattern.fullmatch(difference.name)), None)
        if rule is None:
            left.append(difference)
        else:
            hidden[rule] += 1
    return left, dict(hidden)


def matching(findings: Iterable[Finding], rule: str) -> list[Finding]:
    """The findings that an address, an address with its attribute, or a glob of either names."""
    pattern = _pattern(rule)
    return [finding for finding in findings if pattern.fullmatch(finding.name)]


def compare(
    before: Sequence[Finding], found: Sequence[Difference], where: tuple[str, str], moment: str, run: str
) -> tuple[list[Finding], list[Finding]]:
    """The findings as they are now, and those of before that are no more."""
    last = {finding.key: finding for finding in before}
    now = []
    for difference in found:
        key = (difference.address, difference.attribute)
        finding = last.pop(key, None) or Finding(*where, *key, None, None, moment, moment, run)
        if finding.after_value != difference.after:
            finding = replace(finding, known_until="", known_by="", known_reason="")
        values = {"before_value": difference.before, "after_value": difference.after}
        now.append(replace(finding, last_seen=moment, run=run, **values))
    return now, [replace(finding, resolved=moment, run=run) for finding in last.values()]


# --- walking ----------------------------------------------------------------------------------------------------


def _walk(before: Any, after: Any, hidden: Any, hidden_after: Any, path: tuple[Step, ...]) -> Iterator[Any]:
    """(path, before, after, only reordered) of every leaf that differs."""
    if before == after or (not before and not after):
        return
    if hidden is True or hidden_after is True:
        yield path, HIDDEN, HIDDEN, False
    elif _mappings(before, after):
        for key in sorted({*(before or {}), *(after or {})}):
            marks = (_member(hidden, key), _member(hidden_after, key))
            yield from _walk((before or {}).get(key), (after or {}).get(key), *marks, (*path, key))
    elif _one_block_each(before, after):
        yield from _walk(before[0], after[0], _member(hidden, 0), _member(hidden_after, 0), (*path, 0))
    elif _has_mark(hidden) or _has_mark(hidden_after):
        yield path, HIDDEN, HIDDEN, False
    elif isinstance(before, list) and isinstance(after, list):
        left, came = _without(before, after), _without(after, before)
        # With everything left or come, the whole says more.
        yield (path, left or None, came or None, False) if left or came else (path, before, after, True)
    else:
        yield path, before, after, False


def _mappings(before: Any, after: Any) -> bool:
    """Both are mappings, or one is and the other isn't there."""
    return all(isinstance(item, Mapping) or not item for item in (before, after))


def _one_block_each(before: Any, after: Any) -> bool:
    return all(isinstance(item, list) and len(item) == 1 and isinstance(item[0], Mapping) for item in (before, after))


def _without(these: list[Any], those: list[Any]) -> list[Any]:
    counted = Counter(map(_canonical, those))
    rest = []
    for item in these:
        if counted[_canonical(item)]:
            counted[_canonical(item)] -= 1
        else:
            rest.append(item)
    return rest


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _member(marks: Any, key: Step) -> Any:
    if isinstance(marks, Mapping):
        return marks.get(key)
    return marks[key] if isinstance(marks, list) and isinstance(key, int) and key < len(marks) else None


def _has_mark(marks: Any) -> bool:
    if isinstance(marks, Mapping | list):
        return any(map(_has_mark, marks.values() if isinstance(marks, Mapping) else marks))
    return marks is True


def _dotted(path: Iterable[Step]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


# --- what the module sets -----------------------------------------------------------------------------------------


def _expressions(document: Mapping[str, Any], resource: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the configuration says for this resource; nothing when it is no longer in it."""
    module = document.get("configuration", {}).get("root_module", {})
    for name in _INDEX.sub("", resource.get("module_address", "")).split(".")[1::2]:
        module = module.get("module_calls", {}).get(name, {}).get("module", {})
    address = f"{resource['type']}.{resource['name']}"
    for each in module.get("resources", ()):
        if each["address"] == address:
            found: Mapping[str, Any] = each.get("expressions", {})
            return found
    return {}


def _is_set(expressions: Mapping[str, Any], path: Sequence[Step]) -> bool:
    """Whether the module sets this attribute, or the mapping that it is a key of."""
    value: Any = expressions
    for step in path:
        if isinstance(step, int):
            continue
        blocks = [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, Mapping)]
        if value is not expressions and not any(set(item) - _EXPRESSION for item in blocks):
            return True  # an attribute: what is below it are its values
        inside = [item[step] for item in blocks if step in item]
        if not inside:
            return False
        value = inside[0]
    return True


def _pattern(rule: str) -> re.Pattern[str]:
    """`*` stands for anything; what is below an attribute belongs to it. Brackets mean themselves."""
    return re.compile(re.escape(rule).replace(r"\*", ".*") + r"(?:[.\[].*)?")
