"""A state as `terraform show -json` prints it, without what is sensitive in it.

Terraform marks a sensitive value where it was put, but not where a provider copied it to (`terraform_data` has its
input once more as output). So what is marked anywhere is hidden everywhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from saltform.credentials.masking import Masker
from saltform.plan.values import texts
from saltform.report.words import HIDDEN
from saltform.terraform.stream import masked


def shown_values(document: Mapping[str, Any]) -> dict[str, Any]:
    """Address → values, of every resource in the state."""
    masker = Masker(secret_texts(document))
    return {
        item["address"]: masked(_hidden(item.get("values") or {}, item.get("sensitive_values")), masker.line)
        for item in _resources(_root(document))
    }


def secret_texts(document: Mapping[str, Any]) -> frozenset[str]:
    """Every text that the state calls sensitive somewhere."""
    found: set[str] = set()
    for output in ((document.get("values") or {}).get("outputs") or {}).values():
        found.update(texts(output.get("value"), bool(output.get("sensitive"))))
    for resource in _resources(_root(document)):
        found.update(texts(resource.get("values"), resource.get("sensitive_values")))
    return frozenset(found)


def drift_secrets(document: Mapping[str, Any]) -> frozenset[str]:
    """Every text that a refresh-only plan calls sensitive: in the refreshed state, and in what differs from it."""
    found = set(secret_texts(document.get("prior_state") or {}))
    for drifted in document.get("resource_drift", ()):
        change = drifted["change"]
        found.update(texts(change["before"], change["before_sensitive"]))
        found.update(texts(change["after"], change["after_sensitive"]))
    return frozenset(found)


def _root(document: Mapping[str, Any]) -> Mapping[str, Any]:
    root: Mapping[str, Any] = (document.get("values") or {}).get("root_module") or {}
    return root


def _resources(module: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from module.get("resources", ())
    for child in module.get("child_modules", ()):
        yield from _resources(child)


def _hidden(value: Any, marks: Any) -> Any:
    """`value` without what `marks`, the same shape with True at sensitive places, says."""
    if marks is True:
        return HIDDEN
    if isinstance(value, Mapping) and isinstance(marks, Mapping):
        return {key: _hidden(item, marks.get(key)) for key, item in value.items()}
    if isinstance(value, list) and isinstance(marks, list):
        return [_hidden(item, mark) for item, mark in itertools.zip_longest(value, marks[: len(value)])]
    return value
