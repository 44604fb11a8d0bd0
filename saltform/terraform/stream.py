"""The JSON lines that `plan -json` and `apply -json` print while they work."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Set
from typing import Any

from saltform.errors import SaltformError, describe_diagnostic
from saltform.process import Result
from saltform.terraform.session import COLOUR, Session, failed, start

OnEvent = Callable[[Mapping[str, Any]], None]


class Stream:
    """Reads the lines of one command: masked, logged as a person reads them, then given to `on_event`."""

    def __init__(self, session: Session, on_event: OnEvent) -> None:
        self._session = session
        self._on_event = on_event
        self.diagnostics: list[Mapping[str, Any]] = []
        self._dirty: Set[int] | None = None  # the lines of this block that have something to mask, if that is known
        self._number = 0
        self.said: list[str] = []  # what came without JSON around it: a crash, a message before the command began

    def block(self, block: bytes) -> None:
        """Before its lines come: few of them have a secret in any of its forms, and the others need no look."""
        find_lines = self._session.find_lines
        self._dirty, self._number = find_lines(block) if find_lines else None, 0

    def line(self, _stream: str, line: str) -> None:
        event, dirty = _parse(line), self._dirty is None or self._number in self._dirty
        self._number += 1
        if event is None:
            text = self._session.mask(COLOUR.sub("", line))
            self.said.append(text)
            self._session.log(text)
            return
        # The mask knows JSON's spelling too, so most lines need no walk.
        if dirty and self._session.mask(line) is not line:
            event = masked(event, self._session.mask)
        if event.get("type") == "diagnostic":
            self.diagnostics.append(event["diagnostic"])
            self._session.log(f"{event['diagnostic']['severity']}: {describe_diagnostic(event['diagnostic'])}")
        else:
            self._session.log(self._plain(str(event.get("@message", ""))))
        self._on_event(event)

    def _plain(self, message: str) -> str:
        """Without colours, which may have stood in the middle of a secret."""
        plain = COLOUR.sub("", message)
        return message if plain == message else self._session.mask(plain)


def run_stream(session: Session, argv: list[str], on_event: OnEvent) -> tuple[Result, Stream]:
    """Run a command with `-json` to its end, whatever its exit code."""
    stream = Stream(session, on_event)
    return start(session, argv, stream.line, stream.block), stream


def stream_failed(session: Session, command: str, result: Result, stream: Stream) -> SaltformError:
    return failed(session, command, result, stream.diagnostics, stream.said)


def _parse(line: str) -> dict[str, Any] | None:
    if not line.startswith("{"):
        return None
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if "@message" in event else None


def masked(value: Any, mask: Callable[[str], str]) -> Any:
    """Every string in a JSON value, masked after parsing: what is left is still the JSON that terraform wrote."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {key: masked(item, mask) for key, item in value.items()}
    if isinstance(value, list):
        return [masked(item, mask) for item in value]
    return value
