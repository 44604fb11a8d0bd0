"""Pages of a long answer: ``MaxResults`` in, ``NextToken`` out and back in.

A token holds what is read, how far the reader got and the id that was read last. The id finds the place again
when resources came or went meanwhile; the count is used when that very resource is gone.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from hive_emulator.errors import ApiError

LOWEST, HIGHEST = 5, 1000


def page(
    member: str,
    records: list[dict[str, Any]],
    params: dict[str, Any],
    key: str,
    *,
    lowest: int = LOWEST,
    highest: int = HIGHEST,
) -> dict[str, Any]:
    """An answer with one page of the records under ``member``; ``key`` is the field that tells them apart."""
    size = params.get("MaxResults")
    token = params.get("NextToken")
    if size is None and token is None:
        return {member: records}
    size = _checked_size(highest if size is None else size, lowest, highest)
    start = _start(member, records, key, token) if token else 0
    shown = records[start : start + size]
    if start + size >= len(records):
        return {member: shown}
    return {member: shown, "NextToken": _token(member, start + size, str(shown[-1][key]))}


def refuse_with_ids(params: dict[str, Any], member: str) -> None:
    """Some calls take either ids or pages, and AWS says so."""
    if params.get(member) and "MaxResults" in params:
        raise ApiError(
            "InvalidParameterCombination",
            f"The parameter {member} cannot be used with the parameter maxResults in the same request",
        )


def _checked_size(size: int, lowest: int, highest: int) -> int:
    if lowest <= size <= highest:
        return size
    raise ApiError(
        "InvalidParameterValue",
        f"Value ( {size} ) for parameter maxResults is invalid. Expecting a value from {lowest} to {highest}.",
    )


def _token(member: str, count: int, last: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([member, count, last]).encode()).decode()


def _start(member: str, records: list[dict[str, Any]], key: str, token: str) -> int:
    try:
        what, count, last = json.loads(base64.b64decode(token, altchars=b"-_", validate=True))
        if what != member or type(count) is not int or count < 0 or not isinstance(last, str):
            raise ValueError(token)
    except (ValueError, TypeError, binascii.Error, RecursionError):
        raise ApiError("InvalidNextToken", "The token in NextToken is not one that was given out") from None
    # Usually nothing has changed, and the resource read last is where it was.
    if 0 < count <= len(records) and str(records[count - 1][key]) == last:
        return count
    for place, record in enumerate(records):
        if str(record[key]) == last:
            return place + 1
    return count
