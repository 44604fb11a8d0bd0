"""A master that deploys again and again: `python -m tests.support.racing_master HOME JSON`.

For each line on standard input, which says what the components are and how to deploy them, it deploys and answers
with one line of JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.runner_process import ROOT
from tests.support.world import World


class RacingMaster:
    """Our end of one."""

    def __init__(self, world: World) -> None:
        told = json.dumps({"infrastructure": world.infrastructure, "binary": world.binary})
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.racing_master", str(world.home), told],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def deploy(self, components: dict[str, Any], options: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        print(json.dumps([components, options]), file=self.process.stdin, flush=True)

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(120)
        self.process.stdout.close()


def main(home: str, told: dict[str, Any]) -> None:
    world = World.__new__(World)
    world.home, world.binary, world.author = Path(home), told["binary"], Path(home).name
    world.infrastructure = told["infrastructure"]
    for line in sys.stdin:
        world.components, options = json.loads(line)
        print(json.dumps(world.deploy(**options)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
