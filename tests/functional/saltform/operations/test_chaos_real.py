"""Whatever is killed at whatever moment: after `resume` all is as if nothing had happened.

SALTFORM_CHAOS_ROUNDS and SALTFORM_CHAOS_SEED change how many rounds there are and what happens in them.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from pathlib import Path

from saltform.layout import Layout
from saltform.runlog import RunLog
from saltform.tfstate.local import LocalStates
from tests.support.runner_process import start
from tests.support.world import World

ROUNDS = int(os.environ.get("SALTFORM_CHAOS_ROUNDS", "8"))
SEED = int(os.environ.get("SALTFORM_CHAOS_SEED", "20261116"))
NAMES = ["a", "b", "c", "d", "e"]


def graph(chance: random.Random) -> dict:
    """Five components, each on some of those before it."""
    components = {}
    for number, name in enumerate(NAMES):
        needs = [other for other in NAMES[:number] if chance.random() < 0.4]
        variables = {"name": f"{name}{chance.randrange(3)}"}
        components[name] = {"module": "base", "variables": variables, "needs": needs}
    return components


def terraforms(world: World) -> list[int]:
    """The processes at work in this world's workspaces."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (entry / "cwd").readlink().is_relative_to(world.state_dir / "workspaces"):
                found.append(int(entry.name))
    return found


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def runs(world: World) -> list:
    path = Layout(world.state_dir).runlog
    if not path.exists():
        return []
    log = RunLog(path)
    try:
        return log.runs("staging", limit=1000)
    finally:
        log.close()


def disturb(world: World, chance: random.Random, verb: str, options: dict) -> str:
    """Start a verb, and kill at a random moment the runner, its terraforms, or all of them."""
    before = len(runs(world))
    process = start(world, verb, options)
    while len(runs(world)) == before and process.poll() is None:
        time.sleep(0.02)
    time.sleep(chance.uniform(0, 0.8))
    victims = chance.choice(["runner", "terraform", "all"])
    if victims != "runner":
        for pid in terraforms(world):
            kill(pid)
    if victims != "terraform":
        kill(process.pid)
    process.communicate()
    return victims


def agree(world: World) -> None:
    """Records, states and pillar say the same, and nobody holds anything."""
    states = LocalStates(world.state_dir)
    status = world.call("status", "staging")
    assert status["notes"] == []
    assert world.call("locks", "staging")["locks"] == {}
    for name, item in status["components"].items():
        assert item["status"] in ("applied", "never applied"), (name, item)
        if item["status"] == "applied":
            outputs = states.outputs("staging", name)
            assert outputs["name"].value == world.components[name]["variables"]["name"]
        else:
            state = states.read("staging", name)
            assert state is None or state.resources == []


def test_after_any_kill_a_resume_ends_as_an_undisturbed_run(tmp_path):
    print(f"seed {SEED}, {ROUNDS} rounds")
    chance = random.Random(SEED)
    world = World(tmp_path)
    disturbed = 0
    for number in range(ROUNDS):
        verb = "destroy" if number % 4 == 3 else "deploy"
        if verb == "deploy":
            world.components = graph(chance)
        options = {"yes": True} if verb == "destroy" else {"on_error": chance.choice(["stop", "continue"])}
        victims = disturb(world, chance, verb, options)
        where = f"round {number}: {verb}, killed {victims}"
        if runs(world)[0].status != "done":
            disturbed += 1
            returned = world.call("resume", None)
            assert (returned["retcode"], returned["verb"]) == (0, verb), (where, returned)
        agree(world)
        expected = {"applied"} if verb == "deploy" else {"never applied"}
        assert {item["status"] for item in world.call("status", "staging")["components"].values()} == expected, where
        if verb == "deploy":
            assert {step["status"] for step in world.deploy()["steps"].values()} == {"unchanged"}, where
            assert world.processes.started == []
    assert disturbed  # otherwise every kill came too late to show anything
