"""What differs between two values, attribute by attribute.

1. Mappings are walked by key, a block that is there once by its attributes.
2. Of a list of blocks (rules of a security group) each one that goes and each one that comes is a difference of its
   own: their place in the list says nothing.
3. Any other list is one value.
4. `tags_all` of the aws provider repeats `tags`: what `tags` says already isn't said twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from saltform.plan.values import canonical, is_empty

Path = tuple[str | int, ...]
Difference = tuple[Path, Any, Any]


def differences(before: Any, after: Any) -> list[Difference]:
    found = list(_walk(before, after, ()))
    said = {path[1] for path, *_ in found if path[:1] == ("tags",) and len(path) > 1}
    return [each for each in found if each[0][:1] != ("tags_all",) or not (len(each[0]) == 1 or each[0][1] in said)]


def dotted(path: Iterable[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def same(one: Any, other: Any) -> bool:
    """Equal, and of one type: Python's `1 == True` is no equality of values."""
    if type(one) is not type(other) or one != other:
        return False
    return not isinstance(one, dict | list) or canonical(one) == canonical(other)


def _walk(before: Any, after: Any, path: Path) -> Iterator[Difference]:
    if before is None and after is None:
        return
    if _mapping(before) and _mapping(after):
        one, other = before or {}, after or {}
        for key in sorted({*one, *other}):
            # Most attributes stay as they are: those are not worth a step.
            if one.get(key) is not other.get(key):
                yield from _walk(one.get(key), other.get(key), (*path, key))
    elif same(before, after) or (is_empty(before) and is_empty(after)):
        return
    elif _blocks(before) and _blocks(after):
        yield from _walk_blocks(before or [], after or [], path)
    else:
        yield path, before, after


def _walk_blocks(before: list[Any], after: list[Any], path: Path) -> Iterator[Difference]:
    if len(before) == len(after) == 1:
        yield from _walk(before[0], after[0], (*path, 0))
        return
    gone, come = _without(before, after), _without(after, before)
    yield from ((path, item, None) for item in gone)
    yield from ((path, None, item) for item in come)
    if not gone and not come:
        yield path, before, after  # only in another order


def _blocks(value: Any) -> bool:
    """A list of mappings, or nothing where there could be one."""
    return value is None or (isinstance(value, list) and all(isinstance(item, dict) for item in value))


def _without(these: list[Any], those: list[Any]) -> list[Any]:
    counted = Counter(map(canonical, those))
    rest = []
    for item in these:
        name = canonical(item)
        if counted[name]:
            counted[name] -= 1
        else:
            rest.append(item)
    return rest


def _mapping(value: Any) -> bool:
    return value is None or isinstance(value, dict)
