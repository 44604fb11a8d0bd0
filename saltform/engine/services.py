"""Everything an operation needs from outside, in one value: tests hand in twins, the loader modules the real ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from saltform.config import Settings
from saltform.config.load import ROOT
from saltform.config.runlog import dead_after, runlog_address
from saltform.errors import ModuleError, SaltformError
from saltform.events import Events, RecordedEvents
from saltform.layout import Layout
from saltform.minions import Minions, NoMinions, SaltMaster, Target
from saltform.mounts import check_flock
from saltform.process import Cancel, Processes, RealProcesses
from saltform.report.progress import Progress
from saltform.runlog import RunLog, new_run_id
from saltform.runlog.locks import Locks

SHELL = "shell"
MINION = "minion "  # and its id


def no_requests(_asked: Mapping[str, str], _slot: int) -> None:
    raise SaltformError("no request can be taken here", "a minion's request is taken by its master's reactor")


def no_salt_files(reference: str) -> Path:
    raise ModuleError(
        f"can't fetch {reference}",
        "there is no Salt file server here",
        "use a module name or a git reference",
    )


@dataclass
class Services:
    """One caller's view of the world."""

    settings: Settings
    pillar: Mapping[str, Any] = field(repr=False)
    author: str = "unknown"
    origin: str = "engine"  # from where: `shell` is salt-run at the master's own, `master` all that came over the bus
    run_id: str = field(default_factory=new_run_id)
    processes: Processes = field(default_factory=RealProcesses)
    events: Events = field(default_factory=RecordedEvents)
    progress: Progress | None = None
    fetch_salt: Callable[[str], Path] = no_salt_files
    resolve: Callable[[str], Any] = str  # an sdb:// reference in pillar; without Salt it stays what it is
    refresh_pillar: Callable[[Sequence[Target]], None] = lambda _targets: None
    start_request: Callable[[Mapping[str, str], int], None] = no_requests  # with the descriptor of its slot
    minions: Minions = field(default_factory=NoMinions)
    master: SaltMaster | None = None  # None where no master is: on a minion, and in a program of one's own
    cancel: threading.Event = field(default_factory=Cancel)
    _runlog: RunLog | None = field(default=None, repr=False)

    @property
    def environments(self) -> list[str]:
        """The names in pillar, whatever is wrong with what they stand for."""
        root = self.pillar.get(ROOT)
        found = root.get("environments") if isinstance(root, Mapping) else None
        return [str(name) for name in found] if isinstance(found, Mapping) else []

    @property
    def layout(self) -> Layout:
        return Layout(self.settings.state_dir)

    @property
    def runlog(self) -> RunLog:
        """Opened by the first who asks: some questions need no record."""
        if self._runlog is None:
            check_flock(self.settings.state_dir)
            tree = self.pillar.get(ROOT) or {}
            self._runlog = RunLog(runlog_address(tree) or self.layout.runlog, dead_after(tree))
        return self._runlog

    @property
    def locks(self) -> Locks:
        return self.runlog.locks(self.layout)

    def close(self) -> None:
        self.events.close()
        if self._runlog is not None:
            self._runlog.close()
            self._runlog = None
