"""What terraform is doing at this moment, in a few words, from the events it streams (`-json`).

    creating aws_instance.node[0] (20 s) and 2 more, 1 done

It names the resource that has taken longest, because that is the one a person waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from saltform.report.words import clean

VERBS = {"create": "creating", "update": "updating", "delete": "deleting", "read": "reading", "replace": "replacing"}


class Doing:
    """Takes the events of one command and tells a note whenever it changes."""

    def __init__(self, tell: Callable[[str], None], shorten: Callable[[str], str] = str) -> None:
        self._tell = tell
        self._shorten = shorten
        self._at_work: dict[str, tuple[str, int]] = {}  # address → what is done with it, for how many seconds
        self._done = 0
        self._told = ""

    def __call__(self, event: Mapping[str, Any]) -> None:
        kind, hook = str(event.get("type", "")), event.get("hook") or {}
        address = str((hook.get("resource") or {}).get("addr", ""))
        if not address:
            return
        if kind in ("apply_start", "apply_progress"):
            self._at_work[address] = (str(hook.get("action", "")), int(hook.get("elapsed_seconds") or 0))
        elif kind in ("apply_complete", "apply_errored"):
            self._at_work.pop(address, None)
            self._done += kind == "apply_complete"
        else:
            return
        note = self._note()
        if note != self._told:
            self._told = note
            self._tell(note)

    def _note(self) -> str:
        done = f"{self._done} done" if self._done else ""
        if not self._at_work:
            return done
        address, (action, seconds) = max(self._at_work.items(), key=lambda item: item[1][1])
        took = f" ({seconds} s)" if seconds else ""
        more = f" and {len(self._at_work) - 1} more" if len(self._at_work) > 1 else ""
        said = f"{VERBS.get(action, action)} {clean(self._shorten(address))}{took}{more}"
        return f"{said}, {done}" if done else said
