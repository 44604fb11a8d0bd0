"""A verb in a process of its own, so that it can be killed: `python -m tests.support.runner_process HOME JSON`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.world import World

ROOT = Path(__file__).parents[2]


def start(world: World, verb: str, options: dict[str, Any] | None = None) -> subprocess.Popen[str]:
    """The verb on the world as it is now; its return comes out as JSON."""
    arguments = ["staging", options or {}] if verb in ("deploy", "destroy") else list((options or {}).values())
    told = {
        "components": world.components,
        "infrastructure": world.infrastructure,
        "binary": world.binary,
        "verb": verb,
        "arguments": arguments,
    }
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.runner_process", str(world.home), json.dumps(told)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def main(home: str, told: dict[str, Any]) -> None:
    world = World.__new__(World)
    world.home, world.binary, world.author = Path(home), told["binary"], "ada"
    world.components, world.infrastructure = told["components"], told["infrastructure"]
    print(json.dumps(world.call(told["verb"], *told["arguments"])))


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
