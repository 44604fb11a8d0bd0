"""Terraform's plan JSON → a Plan.

1. A document that isn't a whole plan of a format we know is refused: nothing is judged by halves.
2. Every text that is marked sensitive anywhere is hidden everywhere: providers copy values without their marks.
3. Values that are not known yet are put where they will be.
4. What doesn't change is left out, and so are the resources that only stand in for unknown inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from saltform.credentials.masking import Masker
from saltform.errors import PlanError
from saltform.plan.types import Change, Plan
from saltform.plan.values import Merger, texts
from saltform.workspace.root import PENDING, address_in_module

_ACTIONS = {
    ("no-op",): "",
    ("create",): "create",
    ("read",): "read",
    ("update",): "update",
    ("delete",): "delete",
    ("delete", "create"): "replace",
    ("create", "delete"): "replace",
    ("forget",): "forget",
    ("create", "forget"): "replace",
}


def read(document: Mapping[str, Any], key: bytes, mask: Callable[[str], str] = lambda text: text) -> Plan:
    """The plan in a document of `show -json`. `key` marks sensitive values, `mask` knows other secrets."""
    _check(document)
    try:
        merger = Merger(key, _Hidden(set(_secrets(document)), mask).__getitem__)
        changes = [change for item in document.get("resource_changes") or () for change in _change(item, merger)]
        outputs = {
            name: merger.merged(item.get("after"), item.get("after_unknown"), item.get("after_sensitive"))
            for name, item in (document.get("output_changes") or {}).items()
            if item["actions"] != ["delete"]
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise PlanError("the plan can't be read", f"its JSON lacks what every plan has: {error!r}") from error
    return Plan(tuple(sorted(changes, key=lambda change: change.key)), outputs)


def _check(document: Mapping[str, Any]) -> None:
    version = str(document.get("format_version", ""))
    if version.partition(".")[0] != "1":
        raise PlanError("the plan can't be read", f"found the format {version!r} of plans, expected 1.x")
    if document.get("errored"):
        raise PlanError("the plan can't be used", "terraform marked it as ended by an error")


class _Hidden(dict[str, bool]):
    """Text → whether it holds a secret. The same texts come again and again."""

    def __init__(self, secrets: Iterable[str], mask: Callable[[str], str]) -> None:
        self._masker = Masker(secrets)
        self._mask = mask

    def __missing__(self, text: str) -> bool:
        self[text] = found = self._masker.line(text) != text or self._mask(text) != text
        return found


def _secrets(document: Mapping[str, Any]) -> Iterator[str]:
    changes = [item["change"] for item in document.get("resource_changes") or ()]
    for change in (*changes, *(document.get("output_changes") or {}).values()):
        yield from texts(change.get("before"), change.get("before_sensitive"))
        yield from texts(change.get("after"), change.get("after_sensitive"))


def _change(item: Mapping[str, Any], merger: Merger) -> Iterator[Change]:
    change = item["change"]
    imported = bool(change.get("importing"))
    moved_from = address_in_module(item.get("previous_address", ""))
    action = _action(change["actions"]) or ("import" if imported else "move" if moved_from else "")
    if not action or item["address"].startswith(f"terraform_data.{PENDING}"):
        return
    before_marks, after_marks = change.get("before_sensitive"), change.get("after_sensitive")
    yield Change(
        address=address_in_module(item["address"]),
        type=item["type"],
        action=action,
        before=merger.merged(change["before"], None, before_marks),
        after=merger.merged(_object(change), change.get("after_unknown"), after_marks),
        reason=item.get("action_reason", ""),
        replace_paths=frozenset(map(tuple, change.get("replace_paths", ()))),
        deposed=item.get("deposed", ""),
        moved_from=moved_from,
        imported=imported,
    )


def _object(change: Mapping[str, Any]) -> Any:
    """The planned values; where all of them are unknown there is a mapping of nothing."""
    after, unknown = change["after"], change.get("after_unknown")
    return {} if after is None and unknown and isinstance(unknown, dict) else after


def _action(actions: list[str]) -> str:
    try:
        return _ACTIONS[tuple(actions)]
    except KeyError:
        raise PlanError("the plan can't be read", f"found the unknown actions {actions!r}") from None
