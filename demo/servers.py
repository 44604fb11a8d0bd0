"""The servers of the demo: started on free loopback ports in one private folder, ended by exactly what was started.

`.demo/processes.json` says what runs: name, process id and the time the kernel started it, so that a process id
that was given to somebody else meanwhile is never touched.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

PATIENCE = 90.0


class Servers:
    """What the demo has started, across `make demo KEEP=1` and `make demo-stop`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._list = home / "processes.json"

    def start(self, name: str, argv: Sequence[str], env: dict[str, str] | None = None) -> None:
        """Start a server in its own session; its output goes to `.demo/logs/NAME.log`."""
        log = self.home / "logs" / f"{name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            process = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )
        known = self._known() + [{"name": name, "pid": process.pid, "started": _started(process.pid)}]
        self._list.write_text(json.dumps(known))

    def running(self) -> list[str]:
        return [item["name"] for item in self._known() if _started(item["pid"]) == item["started"]]

    def stop(self) -> None:
        """End what is left of what was started, the newest first."""
        alive = [item for item in reversed(self._known()) if _started(item["pid"]) == item["started"]]
        for number, patience in ((signal.SIGTERM, 20.0), (signal.SIGKILL, 5.0)):
            for item in alive:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(item["pid"], number)
            deadline = time.monotonic() + patience
            while alive and time.monotonic() < deadline:
                alive = [item for item in alive if _started(item["pid"]) == item["started"]]
                time.sleep(0.1)
        self._list.unlink(missing_ok=True)

    def wait_for(self, what: str, ready: Callable[[], bool], log: str) -> None:
        """Wait until a server is ready, or show the end of its log and give up."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if ready():
                return
            if log not in self.running():
                break
            time.sleep(0.1)
        tail = (self.home / "logs" / f"{log}.log").read_text(errors="replace").splitlines()[-15:]
        sys.exit(f"{what} did not become ready. The end of its log:\n" + "\n".join(tail))

    def _known(self) -> list[dict]:
        try:
            known: list[dict] = json.loads(self._list.read_text())
        except (OSError, ValueError):
            return []
        return known


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _started(pid: int) -> str:
    """When the kernel started this process; empty when there is none, or only its shell is left."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]
