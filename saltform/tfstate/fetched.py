"""States that have to be fetched from a server: read once, and again only when the server says that they changed.

1. Every stored state has a version mark (S3: the ETag; PostgreSQL: the row's version). A fetch names the mark it
   knows, and gets the content only if there is another one.
2. `read_many` asks for the marks of a whole environment at once, then fetches, in parallel, only what has changed.
3. What was read last stays readable when the server is away: `last`.
4. A server that doesn't answer is not asked for the next state: a hundred of them take no longer to fail than one.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone

from saltform.errors import StateError, StatesAway
from saltform.tfstate.document import Head, State, read
from saltform.tfstate.states import States


@dataclass(frozen=True)
class Fetched:
    """A state as the server has it."""

    mark: str
    content: bytes


@dataclass(frozen=True)
class Kept:
    """A state that was read, and when the server last said that it is still so."""

    mark: str
    state: State
    seen: datetime


class FetchedStates(States):
    """A reader of states on a server. Safe for threads."""

    at_once = 16  # fetches in parallel

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Kept] = {}
        self._lock = threading.Lock()

    @abstractmethod
    def fetch(self, environment: str, component: str, known: str) -> Fetched | None | bool:
        """The state, None where there is none, or True if it is still the one with the known mark."""

    @abstractmethod
    def marks(self, environment: str, components: Iterable[str]) -> Mapping[str, str]:
        """The mark of every stored state among these components, with one question to the server."""

    @abstractmethod
    def name(self, environment: str, component: str) -> str:
        """Where a state is, as a person reads it."""

    def read(self, environment: str, component: str) -> State | None:
        where = (environment, component)
        kept = self._kept.get(where)
        found = self.fetch(environment, component, kept.mark if kept else "")
        if found is True and kept is not None:
            return self._keep(where, kept.mark, kept.state)
        if not isinstance(found, Fetched):
            with self._lock:
                self._kept.pop(where, None)
            return None
        return self._keep(where, found.mark, read(found.content, self.name(environment, component)))

    def head(self, environment: str, component: str) -> Head | None:
        state = self.read(environment, component)
        return state.head if state else None

    def read_many(self, environment: str, components: Iterable[str]) -> dict[str, State | StateError | None]:
        """All of these; one that can't be read is its error. Raises only if nothing can be asked at all."""
        names = list(components)
        marks = self.marks(environment, names)
        found: dict[str, State | StateError | None] = {}
        changed = []
        for name in names:
            kept = self._kept.get((environment, name))
            if name not in marks:
                found[name] = None
            elif kept is not None and kept.mark == marks[name]:
                found[name] = self._keep((environment, name), kept.mark, kept.state)
            else:
                changed.append(name)
        away: list[StatesAway] = []

        def one(name: str) -> State | StateError | None:
            return away[0] if away else self._read_or_error(environment, name, away)

        if len(changed) == 1 or self.at_once == 1:
            return found | {name: one(name) for name in changed}
        if changed:
            from concurrent.futures import ThreadPoolExecutor  # a run whose states are local doesn't pay for it

            with ThreadPoolExecutor(min(self.at_once, len(changed))) as pool:
                found |= dict(zip(changed, pool.map(one, changed), strict=True))
        return found

    def recall(self, environment: str, component: str, mark: str, state: State) -> None:
        self._keep((environment, component), mark, state)

    def last(self, environment: str, component: str) -> Kept | None:
        """What was read last, whatever the server says now."""
        return self._kept.get((environment, component))

    def _read_or_error(self, environment: str, component: str, away: list[StatesAway]) -> State | StateError | None:
        try:
            return self.read(environment, component)
        except StateError as error:
            if isinstance(error, StatesAway):
                away.append(error)
            return error

    def _keep(self, where: tuple[str, str], mark: str, state: State) -> State:
        with self._lock:
            self._kept[where] = Kept(mark, state, datetime.now(timezone.utc))
        return state
