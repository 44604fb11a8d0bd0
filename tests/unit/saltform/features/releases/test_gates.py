"""The gates of a promotion without a cloud."""

from __future__ import annotations

from saltform.config import load
from saltform.features.releases.gates import gates
from saltform.runlog import ComponentRecord
from tests.support.world import World


def test_a_binary_that_is_gone_is_a_gate_that_does_not_hold_and_hides_no_other(tmp_path):
    world = World(tmp_path)
    world.components = {"networking": {"module": "base", "variables": {"name": "x"}}}
    services = world.services()
    services.runlog.keep_release("r", {"binary": "terraform 1.9.0", "module": {"digest": "d", "entry": "."}}, "run-1")
    record = ComponentRecord("staging", "networking", "r", "f", "l", 1, "run-1", "run-1", "now", "/nowhere/terraform")
    staging = load(services.pillar, "staging").environment("staging")
    found = {gate.gate: gate for gate in gates(services, staging, {"networking": record}, soak=0.0)}
    services.close()
    assert {name: gate.ok for name, gate in found.items()} == {
        "last run": False,
        "applied": True,
        "drift": True,
        "binary": False,
        "modules": False,
    }
    said = "networking was proved with terraform 1.9.0: /nowhere/terraform is not a program that can be run"
    assert found["binary"].said == said
    assert found["modules"].said == "networking: a module of an earlier release is not in the store"
