"""The minions of this master, as operations see them: their keys, and calls to them. The bridge has the real ones.

Every question says how long it may take: a minion that is down never answers, and nobody is told so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Event
from typing import Any, Protocol

from saltform.errors import SaltformError

ACCEPTED, PENDING, REJECTED, DENIED = "accepted", "pending", "rejected", "denied"
NO_KEY = "none"
PING = 15.0  # seconds that a minion has to say that it is there
Target = str | tuple[str, ...]  # a compound expression, or exactly these ids


@dataclass(frozen=True)
class Answer:
    """What one minion returned."""

    value: Any
    retcode: int = 0


class FleetAway(SaltformError):
    """The master doesn't answer at this moment."""


class Fleet(Protocol):
    """Keys and calls. All methods may be called from any thread."""

    def keys(self) -> Mapping[str, str]:
        """Every minion id that has a key here, and what that is: accepted, pending, rejected or denied."""

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


class NoFleet:
    """Where there is no master to ask: on a minion, and in a program of one's own."""

    def keys(self) -> Mapping[str, str]:
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
