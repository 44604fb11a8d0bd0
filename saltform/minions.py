"""The minions of this master, as operations see them: their keys, and calls to them. The bridge has the real ones.

Every question says how long it may take: a minion that is down never answers, and nobody is told so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from threading import Event
from typing import Any, Protocol

from saltform.errors import SaltformError

ACCEPTED, PENDING, REJECTED, DENIED = "accepted", "pending", "rejected", "denied"
NO_KEY = "none"
PING = 15.0  # seconds that a minion has to say that it is there
Target = str | tuple[str, ...]  # a compound expression, or exactly these ids


@dataclass(frozen=True)
class SaltMaster:
    """The version of this master's Salt, and the setting that one-time key tokens need.

    `token_events` is `auth_events_autosign_grains` of its configuration: the events that carry a minion's token.
    """

    version: str
    token_events: tuple[str, ...] = ()

    @property
    def line(self) -> int:
        """3008 of 3008.3; 0 of what is no version."""
        first = self.version.partition(".")[0]
        return int(first) if first.isdecimal() else 0


@dataclass(frozen=True)
class Answer:
    """What one minion returned."""

    value: Any
    retcode: int = 0


def named_ids(target: Target) -> tuple[str, ...]:
    """The ids that a target names one by one: a list's, and words of an expression that are no patterns.

    What stands behind a `not` is not meant.
    """
    if not isinstance(target, str):
        return target
    names: list[str] = []
    words = iter(target.split())
    for word in words:
        if word == "not":
            _skip_operand(words)
        elif word.startswith("L@"):
            names += filter(None, word[2:].split(","))
        elif word not in ("and", "or", "(", ")") and word[1:2] != "@" and not set(word) & set("*?["):
            names.append(word)
    return tuple(dict.fromkeys(names))


def _skip_operand(words: Iterator[str]) -> None:
    depth = 0
    for word in words:
        depth += {"(": 1, ")": -1}.get(word, 0)
        if depth == 0 and word != "not":
            return


class MinionsAway(SaltformError):
    """The master doesn't answer at this moment."""


class Minions(Protocol):
    """Keys and calls. All methods may be called from any thread."""

    def keys(self) -> Mapping[str, str]:
        """Every minion id that has a key here, and what that is: accepted, pending, rejected or denied."""

    def matched(self, target: Target) -> frozenset[str]:
        """The accepted ids that a target means: lists and globs by key, the rest by what the master has cached."""

    def public_key(self, minion: str) -> str:
        """The key that is accepted or waits under this id; empty when there is none."""

    def accept(self, minion: str) -> None:
        """Accept the key that waits."""

    def delete(self, minions: tuple[str, ...]) -> None:
        """Delete the keys of exactly these ids, whatever they are; what has none is no error."""

    def call(
        self,
        target: Target,
        function: str,
        options: Mapping[str, Any],
        seconds: float,
        cancel: Event,
        arguments: tuple[str, ...] = (),
    ) -> Mapping[str, Answer | None]:
        """Each minion that was asked, with its answer; None when it had none in time. `options` are keywords."""


class NoMinions:
    """Where there is no master to ask: on a minion, and in a program of one's own."""

    def keys(self) -> Mapping[str, str]:
        raise _nobody()

    def matched(self, target: Target) -> frozenset[str]:
        raise _nobody()

    def public_key(self, minion: str) -> str:
        raise _nobody()

    def accept(self, minion: str) -> None:
        raise _nobody()

    def delete(self, minions: tuple[str, ...]) -> None:
        raise _nobody()

    def call(
        self,
        target: Target,
        function: str,
        options: Mapping[str, Any],
        seconds: float,
        cancel: Event,
        arguments: tuple[str, ...] = (),
    ) -> Mapping[str, Answer | None]:
        raise _nobody()


def _nobody() -> SaltformError:
    return SaltformError(
        "the minions can't be asked from here",
        "what has `minions`, `converge` or `health` is worked on by the master",
        "the same with salt-run, on the master",
    )
