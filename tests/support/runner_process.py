"""A verb in a process of its own, so that it can be killed: `python -m tests.support.runner_process HOME JSON`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.hive_world import HiveWorld
from tests.support.world import World

ROOT = Path(__file__).parents[2]
LONG = 120.0  # seconds


def told_of(world: World, verb: str, options: dict[str, Any] | None = None) -> dict[str, Any]:
    """The world as it is now, and what to do in it, as JSON takes it."""
    return {
        "components": world.components,
        "infrastructure": world.infrastructure,
        "binary": world.binary,
        "keys": getattr(world, "keys", None),
        "verb": verb,
        "arguments": ["staging", options or {}] if verb in ("deploy", "destroy") else list((options or {}).values()),
    }


def world_of(home: str, told: dict[str, Any]) -> World:
    world = World.__new__(World if told["keys"] is None else HiveWorld)
    world.home, world.binary, world.author = Path(home), told["binary"], "ada"
    world.components, world.infrastructure = told["components"], told["infrastructure"]
    if isinstance(world, HiveWorld):
        world.keys = told["keys"]
    return world


def start(world: World, verb: str, options: dict[str, Any] | None = None) -> subprocess.Popen[str]:
    """The verb on the world as it is now; its return comes out as JSON."""
    told = told_of(world, verb, options)
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.runner_process", str(world.home), json.dumps(told)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def until(condition: Callable[[], Any], what: str) -> Any:
    """The first true answer; `what` says in a failure what was waited for."""
    deadline = time.monotonic() + LONG
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.05)
    return found


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What the verb returned."""
    stdout, _ = process.communicate(timeout=LONG)
    returned: dict[str, Any] = json.loads(stdout)
    return returned


def main(home: str, told: dict[str, Any]) -> None:
    print(json.dumps(world_of(home, told).call(told["verb"], *told["arguments"])))


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
