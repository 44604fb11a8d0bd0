"""Whatever is killed at whatever moment: after `resume` reality, states and run log agree, as after a quiet run.

`make chaos ROUNDS=1000 SEED=7` does more of the same; here it is fifty rounds, and three with the aws provider.

1. A round is a deploy of a random graph or a destroy of a random part of it, in a process of its own. At a random
   moment one of these gets a `kill -9`: the runner, one terraform, all of them, or all of them and the guard that
   would have interrupted terraform (as a power cut does).
2. `resume` then goes on with the run, if it was not done.
3. Reality is what the components themselves make: files in a folder, resources in a Hive. Their applies also write a
   ledger, and refuse to run twice at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import time
from pathlib import Path

import pytest

from hive_emulator.testing import running_emulator
from saltform.layout import Layout
from saltform.runlog import RunLog
from saltform.tfstate.local import LocalStates
from tests.support.chaos import (
    MODULE,
    NAMES,
    ROUNDS,
    SEED,
    expected,
    graph,
    in_workspaces,
    nothing_is_left,
    started,
    wait_until,
)
from tests.support.hive_world import HiveWorld
from tests.support.world import World
from tests.support.zygote import Zygote, zygote

ON_HIVE = max(3, ROUNDS // 20)
LOT = 10  # rounds in one world
VICTIMS = ("runner", "terraform", "all", "all and the guard")

# --- what happens -------------------------------------------------------------------------------------------


def guards_of(pid: int) -> list[int]:
    """The guard is started by its runner with the runner's id as its last argument."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if any(word.endswith(b"guard_program.py") for word in words) and str(pid).encode() in words:
                found.append(int(entry.name))
    return found


def kill(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def strike(world: World, chance: random.Random, runner: int) -> str:
    victims = chance.choice(VICTIMS)
    if victims == "all and the guard":
        kill(guards_of(runner))
    if victims.startswith("all"):
        kill([runner, *in_workspaces(world)])
    elif victims == "runner":
        kill([runner])
    else:
        which, there = chance.random(), in_workspaces(world)  # as many draws, however many there are
        kill([there[int(which * len(there))]] if there else [])
    return victims


def last_run(world: World):
    log = RunLog(Layout(world.state_dir).runlog)
    try:
        runs = log.runs("staging", limit=1)
        return runs[0] if runs else None
    finally:
        log.close()


def id_of_last_run(world: World) -> str:
    last = last_run(world)
    return last.id if last else ""


def disturbed(world: World, chance: random.Random, starter: Zygote, verb: str, options: dict, moment) -> str:
    """Start a verb and kill something of it at the moment that is given; who was killed."""
    before, last = started(world), id_of_last_run(world)
    runner = starter.start(world, verb, options)
    wait_until(lambda: started(world) > before or not runner.alive())
    moment(runner)
    victims = strike(world, chance, runner.pid)
    runner.wait()
    if id_of_last_run(world) == last:
        victims += ", before it was on record"
        world.call(verb, "staging", options)  # so nothing had happened
    return victims


def resumed(world: World, verb: str) -> dict | None:
    """Go on with the last run if it was not done; None if there was nothing to go on with."""
    if last_run(world).status == "done":
        return None
    returned = world.call("resume", None)
    assert (returned["retcode"], returned["verb"]) == (0, verb), json.dumps(returned, indent=1)
    return returned


# --- fast rounds --------------------------------------------------------------------------------------------


def agree(world: World, there: set[str]) -> None:
    """Reality, states, records and pillar say the same."""
    reality = {path.name: path.read_text().strip() for path in (world.home / "reality").iterdir()}
    assert reality == expected(world.components, there)
    states = LocalStates(world.state_dir)
    for name in NAMES:
        state = states.read("staging", name)
        held = [address for address in state.resources if "terraform_data" in address] if state else []
        assert held == (["module.main.terraform_data.this"] if name in there else []), name
        if name in there:
            assert state.outputs["value"].value == reality[name]
    found = {name: item["status"] for name, item in world.call("status", "staging")["components"].items()}
    assert found == {name: "applied" if name in there else "never applied" for name in world.components}
    assert "twice" not in (world.home / "ledger").read_text()


def lots() -> list[int]:
    return [min(LOT, ROUNDS - first) for first in range(0, ROUNDS, LOT)]


@pytest.mark.parametrize(("lot", "rounds"), list(enumerate(lots())))
def test_after_any_kill_a_resume_ends_as_an_undisturbed_run(tmp_path, lot, rounds):
    chance = random.Random(f"{SEED} {lot}")
    print(f"seed {SEED}, lot {lot}: {rounds} rounds")
    world = World(tmp_path)
    world.module("chaos", MODULE)
    (tmp_path / "reality").mkdir()
    (tmp_path / "ledger").touch()
    there: set[str] = set()
    went_on, length = 0, 1.0
    with zygote() as starter:
        for number in range(rounds):
            verb = "destroy" if there and chance.random() < 0.3 else "deploy"
            options: dict = {"on_error": chance.choice(["stop", "continue"])}
            if verb == "deploy":
                if there:  # what left the pillar would be an orphan, which is another story
                    world.destroy(components=sorted(there))
                world.components = graph(chance, tmp_path)
                there = set(world.components)
            else:
                gone = chance.choice(sorted(there))
                options |= {"yes": True, "components": [gone]}
                there -= {gone} | {name for name in there if needs(world.components, name, gone)}
            share = chance.uniform(0, 1.1)
            began = time.monotonic()

            def moment(runner, until=began + share * length):
                wait_until(lambda: time.monotonic() > until or not runner.alive())

            victims = disturbed(world, chance, starter, verb, options, moment)
            length = 0.7 * length + 0.3 * max(0.3, (time.monotonic() - began) / max(share, 0.3))
            where = f"seed {SEED}, lot {lot}, round {number}: {verb}, killed {victims}"
            print(where)
            went_on += resumed(world, verb) is not None
            nothing_is_left(world)
            agree(world, there)
            if verb == "deploy":
                again = world.deploy()
                assert {step["status"] for step in again["steps"].values()} == {"unchanged"}, where
                assert world.processes.started == []
    assert went_on  # otherwise every kill came too late to show anything


def needs(components: dict, name: str, other: str) -> bool:
    return any(need == other or needs(components, need, other) for need in components[name]["needs"])


# --- on a Hive ----------------------------------------------------------------------------------------------

NET = """
variable "cidr" { type = string }
resource "aws_vpc" "this" { cidr_block = var.cidr }
resource "aws_subnet" "this" {
  count      = 3
  vpc_id     = aws_vpc.this.id
  cidr_block = cidrsubnet(var.cidr, 8, count.index)
}
resource "aws_security_group" "this" {
  vpc_id = aws_vpc.this.id
  name   = "chaos"
}
output "vpc_id" { value = aws_vpc.this.id }
"""
WHOLE = 2 * 5  # resources of both components


def on_hive(hive) -> set[str]:
    found = hive.client("ec2").describe_tags(Filters=[{"Name": "key", "Values": ["saltform:environment"]}])["Tags"]
    return {tag["ResourceId"] for tag in found}


def in_states(world: World) -> set[str]:
    found = set()
    for path in (world.state_dir / "states").rglob("terraform.tfstate"):
        tree = json.loads(path.read_bytes() or b"{}")
        resources = [item for item in tree.get("resources", []) if item["mode"] == "managed"]
        found |= {each["attributes"]["id"] for item in resources for each in item["instances"]}
    return found


def test_on_a_hive_every_resource_is_in_a_state_or_was_named(tmp_path):
    chance = random.Random(f"{SEED} hive")
    print(f"seed {SEED}, {ON_HIVE} rounds on a Hive")
    with running_emulator() as hive, zygote() as starter:
        world = HiveWorld(tmp_path, hive)
        world.module("net", NET)
        world.components = {
            name: {"module": "net", "provider": "hive", "variables": {"cidr": f"10.{number}.0.0/16"}}
            for number, name in enumerate(("left", "right"), start=40)
        }
        for number in range(ON_HIVE):
            verb, options = ("destroy", {"yes": True}) if on_hive(hive) else ("deploy", {})
            how_many = chance.randrange(WHOLE)
            enough = (lambda n=how_many: len(on_hive(hive)) <= n) if verb == "destroy" else None
            enough = enough or (lambda n=how_many: len(on_hive(hive)) > n)

            def moment(runner, enough=enough):
                wait_until(lambda: enough() or not runner.alive(), seconds=300, every=0.03)

            victims = disturbed(world, chance, starter, verb, options, moment)
            where = f"seed {SEED}, round {number}: {verb} with {how_many} resources, killed {victims}"
            print(where)
            returned = world.call("resume", None) if last_run(world).status != "done" else {"retcode": 0, "notes": []}
            strays = on_hive(hive) - in_states(world)
            said = " ".join(returned["notes"])
            assert all(stray in said for stray in strays), (where, strays, returned)
            if strays:
                assert world.call("strays", "staging", None, None, True)["strays"] == [], where
            if returned["retcode"]:  # a stray was in the way: a subnet with the same addresses, say
                assert strays, f"{where}: {json.dumps(returned, indent=1)}"
                returned = world.call("resume", None)
                assert returned["retcode"] == 0, f"{where}: {json.dumps(returned, indent=1)}"
            assert on_hive(hive) == in_states(world), where
            assert len(on_hive(hive)) == (WHOLE if verb == "deploy" else 0), (where, returned)
            nothing_is_left(world)
            if verb == "deploy":
                assert {step["status"] for step in world.deploy()["steps"].values()} == {"unchanged"}, where
