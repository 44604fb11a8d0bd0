"""How many requests under one id are looked at together: so many processes there are, however many events come.

1. A request has a slot of its minion's id from its event until the minion has confirmed it. Without a free slot
   the event is refused and nothing is started; the minion may send it again.
2. After a mismatch the slot stays taken for a while: guessing under somebody's name is slow.
3. Whoever floods a minion's id takes all of its slots. So what that minion's data store really holds is kept, and one
   more slot is for the request with that digest alone: the minion's own event gets through when it is sent again.

A slot is an flock on a file. The request's process inherits it, and the kernel frees it when that process is gone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from pathlib import Path

from saltform.errors import SaltformError
from saltform.features.requests.form import Asked, refused
from saltform.files import make_folder, write_atomic
from saltform.layout import Layout

SLOTS = ("0", "1")
_RESERVED, _EXPECTED = "reserved", "expected"
_DIGEST = re.compile(r"[0-9a-f]{64}")


def take_slot(layout: Layout, asked: Asked) -> int:
    """The descriptor of a free slot; whoever closes the last copy of it frees the slot."""
    folder = make_folder(layout.requests_of(asked.minion))
    for name in (*SLOTS, *([_RESERVED] if _expected(folder) == asked.digest else [])):
        descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
        else:
            return descriptor
    raise refused(asked.minion, "too many requests under its name wait for its confirmation; send it again later")


def expect(layout: Layout, minion: str, held: object) -> None:
    """What the minion's data store holds: its own request, if that is still to come."""
    if isinstance(held, str) and _DIGEST.fullmatch(held):
        with contextlib.suppress(SaltformError):  # the next one tries again
            write_atomic(layout.requests_of(minion) / _EXPECTED, held.encode(), durable=False)


def _expected(folder: Path) -> str:
    try:
        return (folder / _EXPECTED).read_text()
    except OSError:
        return ""
