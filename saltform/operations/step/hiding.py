"""A state as `terraform show -json` prints it, without what is sensitive in it.

Terraform marks a sensitive value where it was put, but not where a provider copied it to (`terraform_data` has its
input once more as output). So what is marked anywhere is hidden everywhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from saltform.credentials.masking import Masker
from saltform.report.words import HIDDEN
from saltform.terraform.stream import masked


def shown_values(document: Mapping[str, Any]) -> dict[str, Any]:
    """Address → values, of every resource in the state."""
    masker = Masker(secret_texts(document))
    return {
        item["address"]: masked(
            _walk(item.get("values") or {}, item.get("sensitive_values"), lambda _: HIDDEN), masker.line
        )
        for item in _resources(_root(document))
    }


def secret_texts(document: Mapping[str, Any]) -> frozenset[str]:
    """Every text that the state calls sensitive somewhere."""
    found: list[str] = []

    def note(value: Any) -> None:
        found.extend(texts(value))

    for output in ((document.get("values") or {}).get("outputs") or {}).values():
        _walk(output.get("value"), bool(output.get("sensitive")), note)
    for resource in _resources(_root(document)):
        _walk(resource.get("values"), resource.get("sensitive_values"), note)
    return frozenset(found)


def drift_secrets(document: Mapping[str, Any]) -> frozenset[str]:
    """Every text that a refresh-only plan calls sensitive: in the refreshed state, and in what differs from it."""
    found: list[str] = []

    def note(value: Any) -> None:
        found.extend(texts(value))

    for drifted in document.get("resource_drift", ()):
        change = drifted["change"]
        _walk(change["before"], change["before_sensitive"], note)
        _walk(change["after"], change["after_sensitive"], note)
    return secret_texts(document.get("prior_state") or {}).union(found)


def _root(document: Mapping[str, Any]) -> Mapping[str, Any]:
    root: Mapping[str, Any] = (document.get("values") or {}).get("root_module") or {}
    return root


def _resources(module: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from module.get("resources", ())
    for child in module.get("child_modules", ()):
        yield from _resources(child)


def _walk(value: Any, marks: Any, at_mark: Callable[[Any], Any]) -> Any:
    """`value` with `at_mark` applied where `marks`, the same shape with True at sensitive places, says so."""
    if marks is True:
        return at_mark(value)
    if isinstance(value, Mapping) and isinstance(marks, Mapping):
        return {key: _walk(item, marks.get(key), at_mark) for key, item in value.items()}
    if isinstance(value, list) and isinstance(marks, list):
        return [_walk(item, mark, at_mark) for item, mark in itertools.zip_longest(value, marks[: len(value)])]
    return value


def texts(value: Any) -> Iterator[str]:
    """Every text in a value, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from texts(item)
