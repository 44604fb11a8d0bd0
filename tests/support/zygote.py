"""Runners by the dozen, each a process of its own that can be killed: forked from one that has imported everything.

`python -m tests.support.zygote` reads what to do as JSON lines, forks for each, and answers with the child's id.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.runner_process import ROOT, told_of, world_of
from tests.support.world import World


class Runner:
    """A verb at work in a process of its own."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def alive(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def wait(self, seconds: float = 120) -> None:
        deadline = time.monotonic() + seconds
        while self.alive():
            assert time.monotonic() < deadline, f"runner {self.pid} does not end"
            time.sleep(0.01)


class Zygote:
    """Starts runners without waiting for imports."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def start(self, world: World, verb: str, options: dict[str, Any]) -> Runner:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps([str(world.home), told_of(world, verb, options)]) + "\n")
        self._process.stdin.flush()
        return Runner(int(self._process.stdout.readline()))


@contextlib.contextmanager
def zygote() -> Iterator[Zygote]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.zygote"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Zygote(process)
        process.kill()


def main() -> None:
    import saltform.verbs.deploy
    import saltform.verbs.destroy  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children: they just go
    for line in sys.stdin:
        home, told = json.loads(line)
        pid = os.fork()
        if pid:
            print(pid, flush=True)
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        try:
            Path(home, "returned.json").unlink(missing_ok=True)
            returned = world_of(home, told).call(told["verb"], *told["arguments"])
            Path(home, "returned.json").write_text(json.dumps(returned))
        finally:
            os._exit(0)


if __name__ == "__main__":
    main()
