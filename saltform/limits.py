"""How much of a provider all runs of this master use together, whatever process they are in.

1. A terraform that asks a provider has a place there while it runs: one of `processes` files, locked. Terraform
   inherits the lock, so a place is free when its last process is gone, however it went.
2. Starts are at least a minute / `starts_per_minute` apart.
3. When the provider says that it is asked too much, places, starts and terraform's own parallelism are halved, once
   for all who were told so at the same time. They grow back evenly until all is as pillar says.
4. Whoever wants to try again spends one of `retries_per_minute`: a broken API is not asked by everybody again.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from saltform.config.types import Limits
from saltform.errors import Cancelled
from saltform.files import cannot_write, make_folder

PARALLELISM = 10  # terraform's own, where nobody says another
RECOVERY = 600.0  # seconds from nothing to all
TOGETHER = 15.0  # seconds: who is throttled so soon after another means the same thing
LEAST = 1 / 64
MINUTE = 60.0
LOOK_EVERY = 0.1
T = TypeVar("T")


@dataclass(frozen=True)
class Pace:
    """What is allowed at this moment; 0 is no limit."""

    share: float  # of what pillar says
    processes: int
    starts_per_minute: float
    parallelism: int

    def __str__(self) -> str:
        said = [f"{self.parallelism} requests at once for each process"]
        if self.processes:
            said.insert(0, f"{self.processes} process{'es' if self.processes > 1 else ''} at once")
        if self.starts_per_minute:
            said.append(f"{self.starts_per_minute:g} starts a minute")
        return ", ".join(said)


class Gate:
    """One provider's, for every process of this master that has the same folder."""

    def __init__(self, folder: Path, provider: str, limits: Limits, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self.provider = provider
        self._limits = limits
        self._clock = clock

    # --- how much -------------------------------------------------------------------------------------------

    def pace(self) -> Pace:
        """What is allowed now."""
        limits, share = self._limits, self._share(_read(self._folder / "throttled"))
        return Pace(
            share,
            max(1, int(limits.processes * share)) if limits.processes else 0,
            max(1.0, round(limits.starts_per_minute * share, 1)) if limits.starts_per_minute else 0,
            max(1, int((limits.parallelism or PARALLELISM) * share)),
        )

    def slow_down(self) -> Pace | None:
        """The provider is asked too much: half of what there was. None when somebody was just told the same."""
        with _alone(self._folder / "throttled") as file:
            told, now = _parse(file), self._clock()
            if 0 <= now - told.get("at", 0.0) < TOGETHER:
                return None
            _write(file, {"share": max(LEAST, self._share(told) / 2), "at": now})
        return self.pace()

    def _share(self, told: dict[str, Any]) -> float:
        if not told:
            return 1.0
        return min(1.0, float(told["share"]) + max(0.0, self._clock() - told["at"]) / RECOVERY)

    # --- places and starts ----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def place(self, cancel: threading.Event, tell: Callable[[str], None]) -> Iterator[tuple[int, ...]]:
        """A place at the provider, waited for. Yields what the process has to inherit to keep it."""
        with contextlib.ExitStack() as held:
            descriptors: tuple[int, ...] = ()
            if self._limits.processes:
                descriptors = (self._wait(self._free_place, cancel, tell),)
                held.callback(os.close, descriptors[0])
            if self._limits.starts_per_minute:
                self._wait(self._start, cancel, tell)
            yield descriptors

    def _wait(self, attempt: Callable[[], T | None], cancel: threading.Event, tell: Callable[[str], None]) -> T:
        said = False
        while (found := attempt()) is None:
            if not said:
                tell(f"waiting for {self.provider}: {self.pace()}")
                said = True
            if cancel.wait(LOOK_EVERY):
                raise Cancelled(f"nothing was asked of {self.provider}", "the run was cancelled while it waited")
        return found

    def _free_place(self) -> int | None:
        """An open, locked place, or None when as many are taken as may be."""
        with _alone(self._folder / "places"):
            free, taken = [], 0
            for path in self._places():
                descriptor = _open(path)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    free.append(descriptor)
                except BlockingIOError:
                    os.close(descriptor)
                    taken += 1
            mine = free.pop(0) if free and taken < self.pace().processes else None
            for descriptor in free:
                os.close(descriptor)
            return mine

    def _places(self) -> set[Path]:
        """Those that pillar has now, and those of a time when it had more: they may still be taken."""
        wanted = {self._folder / f"{number}.place" for number in range(self._limits.processes)}
        return wanted.union(self._folder.glob("*.place"))

    def _start(self) -> float | None:
        """The moment to start at: now, or not yet."""
        apart = MINUTE / self.pace().starts_per_minute
        with _alone(self._folder / "started") as file:
            now = self._clock()
            if 0 <= now - _parse(file).get("at", 0.0) < apart:  # a clock that was set back keeps nobody waiting
                return None
            _write(file, {"at": now})
        return now

    # --- retries --------------------------------------------------------------------------------------------

    def may_retry(self) -> bool:
        """One of the provider's retries, if there is one left in this minute."""
        with _alone(self._folder / "retries") as file:
            now = self._clock()
            recent = [at for at in _parse(file).get("at", []) if 0 <= now - at < MINUTE]
            if len(recent) >= self._limits.retries_per_minute:
                return False
            _write(file, {"at": [*recent, now]})
        return True


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[int]:
    """The file, open, and nobody else's for this moment."""
    make_folder(path.parent)
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise cannot_write(path, error) from None


def _parse(file: int) -> dict[str, Any]:
    try:
        tree = json.loads(os.pread(file, 1 << 20, 0))
    except ValueError:  # new, or its last writer was killed in the middle: as if nothing had been
        return {}
    return tree if isinstance(tree, dict) else {}


def _read(path: Path) -> dict[str, Any]:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # nothing was ever written there
        return {}
    try:
        fcntl.flock(file, fcntl.LOCK_SH)
        return _parse(file)
    finally:
        os.close(file)


def _write(file: int, tree: dict[str, Any]) -> None:
    content = json.dumps(tree).encode()
    os.pwrite(file, content, 0)
    os.ftruncate(file, len(content))
