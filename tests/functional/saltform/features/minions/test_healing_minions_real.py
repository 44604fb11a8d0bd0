"""Healing drift leaves minions alone, except for those whose instance it creates. Terraform is real."""

from __future__ import annotations

import json

import pytest

from saltform.features.minions import converging
from saltform.layout import Layout
from saltform.report import text
from tests.support.minions import HOSTS, MemoryMinions, clean
from tests.support.world import statuses

STATE = "file_|-/etc/a_|-/etc/a_|-managed"


class Minions(MemoryMinions):
    """Minions with a file; a highstate writes it, and a test of it says whether it would."""

    def __init__(self):
        super().__init__()
        self.tampered: set[str] = set()
        self.highstates: list[str] = []

    def call(self, target, function, options, seconds, cancel, arguments=()):
        if function == "state.apply" and options.get("test"):
            self.answers[function] = self._tested
        elif function == "state.apply":
            self.answers[function] = self._applied
        return super().call(target, function, options, seconds, cancel, arguments)

    def _tested(self, minion):
        said = {"result": None, "comment": "The file is set to be changed", "__id__": "/etc/a"}
        return {STATE: said} if minion in self.tampered else clean(minion)

    def _applied(self, minion):
        self.highstates.append(minion)
        self.tampered.discard(minion)
        return clean(minion)


@pytest.fixture
def world(world, monkeypatch):
    """Two hosts with minions that converge by a highstate, deployed; `other` has none."""
    monkeypatch.setattr(converging, "PAUSE", 0.02)
    world.minions = Minions()
    world.module("hosts", HOSTS)
    world.components = {
        "hosts": {
            "module": "hosts",
            "minions": ["host-1", "host-2"],
            "converge": {"highstate": True, "health": "test.ping", "timeout": "30s"},
        },
        "other": {"module": "base", "variables": {"name": "other"}},
    }
    services = world.services(minions=world.minions)

    def keys_come(_tag, data):
        if data.get("status") == "converging":
            world.minions.comes("host-1", "host-2")

    services.events.fire = keys_come
    deployed = world.call("deploy", "staging", {}, services=services)
    assert deployed["retcode"] == 0, deployed
    assert world.minions.highstates == ["host-1", "host-2"]
    world.minions.highstates.clear()
    return world


def drift(world, **options):
    return world.call("drift", "staging", options, services=world.services(minions=world.minions))


def recreated(world, *, comes=True, heal=True):
    """What a heal deploys when host-1's instance is gone: its key goes, and it comes again on a new one."""
    path = Layout(world.state_dir).states("staging", "hosts") / "terraform.tfstate"
    tree = json.loads(path.read_text())
    (hosts,) = tree["resources"]
    hosts["instances"] = [item for item in hosts["instances"] if item["index_key"] != "host-1"]
    path.write_text(json.dumps(tree))

    def act(_tag, data):
        if comes and data.get("status") == "converging":
            world.minions.comes("host-1")

    options = {"components": ["hosts"], "only": True, "refresh": True, "heal": heal}
    services = world.services(minions=world.minions)
    services.events.fire = act
    return world.call("deploy", "staging", options, services=services)


def test_a_heal_of_minions_that_differ_changes_none_of_them_and_says_so(world):
    world.minions.tampered = {"host-2"}
    returned = drift(world, heal=True)
    assert (returned["retcode"], world.minions.highstates) == (2, [])
    assert world.minions.tampered == {"host-2"}
    by_hand = "host-2 is healed by its highstate: salt host-2 state.apply; or the same check with minions=True"
    assert by_hand in returned["notes"]


def test_minions_true_runs_the_highstate_on_all_of_that_components(world):
    world.minions.tampered = {"host-2"}
    returned = drift(world, heal=True, minions=True)
    assert (returned["retcode"], returned["success"]) == (0, True), returned
    assert sorted(world.minions.highstates) == ["host-1", "host-2"]
    assert statuses(returned["healed"]) == {"hosts": "unchanged"}
    assert drift(world)["retcode"] == 0


def test_minions_true_works_where_nothing_converges(world):
    del world.components["hosts"]["converge"]
    assert world.call("deploy", "staging", {}, services=world.services(minions=world.minions))["retcode"] == 0
    world.minions.tampered = {"host-1"}
    assert drift(world, heal=True, minions=True)["retcode"] == 0
    assert sorted(world.minions.highstates) == ["host-1", "host-2"]


def test_what_a_highstate_could_not_mend_still_differs(world):
    world.minions.tampered = {"host-2"}
    world.minions._applied = clean  # it says that all is well, and changes nothing
    returned = drift(world, heal=True, minions=True)
    assert (returned["retcode"], returned["success"]) == (2, True)
    line = "host-2: file.managed /etc/a (The file is set to be changed)"
    assert returned["still"] == {"hosts": [line]}
    assert f"hosts still differs: {line}" in returned["notes"]
    assert line in text.render(returned)
    assert drift(world)["steps"]["hosts"]["check"]["status"] == "drifted"


def test_a_dry_run_changes_nobody(world):
    world.minions.tampered = {"host-2"}
    returned = drift(world, heal=True, minions=True, dry_run=True)
    assert (returned["retcode"], world.minions.highstates) == (2, [])
    assert "healed" in json.dumps(returned)


def test_a_minion_whose_instance_the_heal_created_gets_its_highstate_and_no_other(world):
    world.minions.tampered = {"host-1", "host-2"}
    returned = recreated(world)
    assert (returned["retcode"], statuses(returned)) == (0, {"hosts": "applied"}), returned
    assert world.minions.highstates == ["host-1"]
    assert ("test.ping", ("host-1", "host-2")) in world.minions.asked  # waited for, and asked for their health
    assert world.minions.tampered == {"host-2"}


def test_whoever_goes_on_with_a_heal_knows_which_instances_it_had_created(world):
    world.components["hosts"]["converge"]["timeout"] = "0.3s"
    failed = recreated(world, comes=False)
    assert (failed["retcode"], world.minions.highstates) == (1, [])
    assert world.call("status", "staging")["components"]["hosts"]["status"] == "half done"
    world.minions.comes("host-1")
    resumed = world.call("resume", failed["run"], services=world.services(minions=world.minions))
    assert resumed["retcode"] == 0, resumed
    assert world.minions.highstates == ["host-1"]


def test_a_deploy_that_heals_nothing_runs_every_highstate_as_before(world):
    assert recreated(world, heal=False)["retcode"] == 0
    assert sorted(world.minions.highstates) == ["host-1", "host-2"]
