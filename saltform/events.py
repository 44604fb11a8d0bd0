"""News of a run for everyone who listens: reactors, dashboards, other people's scripts.

Firing an event must never slow down or break a run: `QueuedEvents` hands them to one thread, in order (Salt's
event bus is not thread-safe), and gives up quietly on a bus that doesn't answer. The bus itself is handed in.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

Send = Callable[[str, dict[str, Any]], object]


class Events(Protocol):
    """Somewhere to tell what happens."""

    def fire(self, tag: str, data: Mapping[str, Any]) -> None: ...

    def close(self) -> None: ...


class RecordedEvents:
    """The twin in memory: remembers what was fired, for tests and for runs nobody listens to."""

    def __init__(self) -> None:
        self.fired: list[tuple[str, dict[str, Any]]] = []

    def fire(self, tag: str, data: Mapping[str, Any]) -> None:
        self.fired.append((tag, dict(data)))

    def close(self) -> None:
        """Nothing is waiting."""


class QueuedEvents:
    """Fires through `send` from a thread of its own; `send` raises or returns False when the bus is gone.

    `hang_up` is called at the end, when nothing is being sent any more.
    """

    def __init__(self, send: Send, patience: float = 2.0, hang_up: Callable[[], None] = lambda: None) -> None:
        self._send = send
        self._hang_up = hang_up
        self._patience = patience
        self._waiting: queue.SimpleQueue[tuple[str, dict[str, Any]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = False

    def fire(self, tag: str, data: Mapping[str, Any]) -> None:
        with self._lock:
            if self._closed:
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._pump, name="saltform-events", daemon=True)
                self._thread.start()
            self._waiting.put((tag, dict(data)))

    def close(self) -> None:
        """Let what is waiting go out while the patience lasts: a run's end doesn't hang on its news."""
        with self._lock:
            self._closed = True
            thread = self._thread
        if thread is not None:
            self._waiting.put(None)
            thread.join(self._patience)
            if not thread.is_alive():
                self._hang_up()

    def _pump(self) -> None:
        bus_answers = True
        while (event := self._waiting.get()) is not None:
            # Without a master every event costs about a second: one refusal is enough.
            bus_answers = bus_answers and self._sent(*event)

    def _sent(self, tag: str, data: dict[str, Any]) -> bool:
        try:
            return self._send(tag, data) is not False
        except Exception:  # whatever a stopping master throws at us: news are best effort
            return False


def step_tag(run: str, component: str, status: str) -> str:
    """`saltform/run/<run>/<component>/<status>`; two words are joined: awaiting_approval."""
    return f"saltform/run/{run}/{component}/{str(status).replace(' ', '_')}"


def unchanged_tag(run: str) -> str:
    """`saltform/run/<run>/unchanged`: components that a deploy left alone without starting anything."""
    return f"saltform/run/{run}/unchanged"


def drift_tag(environment: str, component: str) -> str:
    """`saltform/drift/<environment>/<component>`: how a check ended."""
    return f"saltform/drift/{environment}/{component}"


def drift_changed_tag(environment: str, component: str) -> str:
    """`saltform/drift/<environment>/<component>/changed`: a check ended otherwise than the one before."""
    return f"{drift_tag(environment, component)}/changed"


def throttled_tag(provider: str) -> str:
    """`saltform/provider/<provider>/throttled`: it is asked less from now on."""
    return f"saltform/provider/{provider}/throttled"


def outputs_tag(environment: str, component: str) -> str:
    """`saltform/outputs/<environment>/<component>`: which of its outputs have changed."""
    return f"saltform/outputs/{environment}/{component}"


def approval_tag(environment: str, run: str) -> str:
    """`saltform/approval/<environment>/<run>`: somebody has to act, or has acted."""
    return f"saltform/approval/{environment}/{run}"


def answer_tag(minion: str) -> str:
    """`saltform/answer/<minion>`: how the run ended that a minion asked for."""
    return f"saltform/answer/{minion}"
