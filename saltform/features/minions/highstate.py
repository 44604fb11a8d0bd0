"""What `state.apply` on a minion means: which states failed, or would change something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from saltform.minions import Answer

_NOTHING = "no_|-states_|-states_|-None"  # what Salt returns when no top file matches the minion
_LONGEST = 200  # characters of a comment


def failures(answer: Answer | None) -> list[str]:
    """What keeps a highstate from being clean, a line for each; nothing when it is."""
    if answer is None:
        return ["the highstate did not end in time"]
    if not isinstance(answer.value, dict):  # it could not even be compiled
        said = answer.value if isinstance(answer.value, list) else [answer.value]
        return [f"the highstate can't be run: {_short(item)}" for item in said] or ["the highstate returned nothing"]
    return [
        f"state {_name(tag, item)} failed: {_short(item.get('comment', ''))}"
        for tag, item in _in_order(answer.value)
        if item.get("result") is False
    ]


def has_no_states(answer: Answer) -> bool:
    """Whether there is no highstate for this minion at all: nothing that it could differ from."""
    return set(answer.value) == {_NOTHING}


def would_change(answer: Answer) -> list[dict[str, str]]:
    """The states that would change something, or fail, of a highstate with `test=True` that ran.

    Their changes are left out: they are made of file contents.
    """
    return [
        {"state": _name(tag, item), "comment": _short(item.get("comment", ""))}
        for tag, item in _in_order(answer.value)
        if item.get("result") is not True
    ]


def _in_order(states: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    known = [(tag, item) for tag, item in states.items() if isinstance(item, dict)]
    yield from sorted(known, key=lambda pair: pair[1].get("__run_num__", 0))


def _name(tag: str, item: dict[str, Any]) -> str:
    """`file_|-id_|-name_|-managed` → `file.managed id`."""
    parts = tag.split("_|-")
    function = f"{parts[0]}.{parts[-1]}" if len(parts) == 4 else parts[0]
    return f"{function} {item.get('__id__') or item.get('name') or tag}"


def _short(text: Any) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
