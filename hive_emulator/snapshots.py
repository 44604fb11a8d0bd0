"""Everything in a store as one JSON document, and back."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hive_emulator.ec2 import interrupted
from hive_emulator.store.base import Change

if TYPE_CHECKING:
    from hive_emulator.emulator import Emulator

FORMAT = 1
_COLUMNS = 5  # account, region, kind, id, record


class SnapshotError(Exception):
    """The document is not a snapshot of ours."""


def save(emulator: Emulator) -> dict[str, Any]:
    """Every record of every account and region."""
    return {"format": FORMAT, "records": [list(row) for row in emulator.store.state.everything()]}


async def load(emulator: Emulator, document: Any) -> int:
    """Replace everything by ``document``, at once; returns the number of records."""
    wanted = _changes(document)
    keys = {change[:4] for change in wanted}
    there = [Change(*row[:4], None) for row in emulator.store.state.everything() if row[:4] not in keys]
    await emulator.store.commit([*there, *wanted], lambda: True)
    count = len(wanted)
    del document, wanted, there
    _give_back()
    interrupted.begin_again(emulator)  # what was on its way when it was saved
    return count


def _give_back() -> None:
    """Give back to the system what the old records and the document took: the allocator would keep it for ever."""
    gc.collect()
    with suppress(OSError, AttributeError):  # glibc has it
        ctypes.CDLL(None).malloc_trim(0)


def _changes(document: Any) -> list[Change]:
    if not isinstance(document, dict) or not isinstance(document.get("records"), list):
        raise SnapshotError("expected an object with records")
    if document.get("format", FORMAT) != FORMAT:
        raise SnapshotError(f"its format is {document['format']!r}, this emulator reads {FORMAT}")
    for row in document["records"]:
        texts = isinstance(row, list) and len(row) == _COLUMNS and all(isinstance(t, str) for t in row[:4])
        if not texts or not isinstance(row[4], dict):
            raise SnapshotError(f"expected [account, region, kind, id, record], found {str(row)[:80]}")
    return [Change(*row) for row in document["records"]]
