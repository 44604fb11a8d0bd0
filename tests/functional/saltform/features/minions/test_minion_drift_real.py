"""One report for both: what Terraform made, and the minions on it. Terraform is real."""

from __future__ import annotations

import pytest

from saltform.report import markdown, text
from tests.support.minions import MemoryMinions, broken, clean
from tests.support.world import statuses


def changed(minion):
    comment = f"The file is set to be changed on {minion}"
    state = {"result": None, "comment": comment, "__id__": "/etc/a", "changes": {"diff": "- hush-hush-hush"}}
    return clean(minion) | {"file_|-/etc/a_|-/etc/a_|-managed": state}


@pytest.fixture
def world(world):
    world.minions = MemoryMinions()
    world.minions.comes("consul-1", "consul-2")
    world.minions.answers["state.apply"] = clean
    world.components = {
        "consul": {
            "module": "base",
            "variables": {"name": "consul"},
            "converge": {"target": "consul-*", "expect": 2},
        },
        "other": {"module": "base", "variables": {"name": "other"}},
    }
    assert call(world, "deploy")["retcode"] == 0
    return world


def call(world, verb, **options):
    return world.call(verb, "staging", options, services=world.services(minions=world.minions))


def standing(returned):
    return {name: step["check"]["status"] for name, step in returned["steps"].items()}


def test_minions_that_are_as_they_should_be_are_clean_and_those_without_are_not_asked(world):
    world.minions.asked.clear()
    returned = call(world, "drift")
    assert (returned["retcode"], standing(returned)) == (0, {"consul": "clean", "other": "clean"})
    assert returned["steps"]["consul"]["check"]["minions"] == {
        "consul-1": {"status": "clean"},
        "consul-2": {"status": "clean"},
    }
    assert "minions" not in returned["steps"]["other"]["check"]
    assert [function for function, _ in world.minions.asked] == ["test.ping", "state.apply"]


def test_a_minion_that_differs_is_drift_of_its_component_and_heal_names_its_highstate(world):
    world.minions.answers["state.apply"] = lambda minion: changed(minion) if minion == "consul-2" else clean(minion)
    returned = call(world, "drift", heal=True)
    assert (returned["retcode"], standing(returned)) == (2, {"consul": "drifted", "other": "clean"})
    differs = returned["steps"]["consul"]["check"]["minions"]["consul-2"]
    assert differs["states"] == [
        {"state": "file.managed /etc/a", "comment": "The file is set to be changed on consul-2"}
    ]
    assert returned["steps"]["consul"]["reason"] == "1 minion not as its highstate says"
    assert "healed" not in returned
    by_hand = "consul-2 is healed by its highstate: salt consul-2 state.apply; or the same check with minions=True"
    assert by_hand in returned["notes"]
    for said in (text.render(returned), markdown.render(returned).replace("\\", "")):
        assert "consul-2: file.managed /etc/a" in said
        assert "hush" not in said
    told = [data for tag, data in world.events.fired if tag == "saltform/drift/staging/consul"]
    assert [data["minions"] for data in told] == [["consul-2"]]
    # A state that would fail is as bad as one that would change.
    world.minions.answers["state.apply"] = broken
    assert standing(call(world, "drift"))["consul"] == "drifted"


def test_a_minion_that_does_not_answer_is_unknown_and_not_clean(world):
    world.minions.here.discard("consul-2")
    returned = call(world, "drift")
    assert (returned["retcode"], standing(returned)) == (1, {"consul": "unknown", "other": "clean"})
    assert statuses(returned)["consul"] == "failed"
    assert "consul-2: it does not answer" in returned["steps"]["consul"]["error"]["detail"]
    assert "consul-2 is unknown" in text.render(returned)
    # Even where fewer would be enough for a deploy; and who never came has no name.
    world.components["consul"]["converge"]["expect"] = 1
    assert standing(call(world, "drift"))["consul"] == "unknown"
    world.components["consul"]["converge"]["expect"] = 3
    said = call(world, "drift")["steps"]["consul"]["error"]["detail"]
    assert said == "consul-2: it does not answer; consul-*: 1 of 3 minions answer"


def test_a_minion_that_has_no_highstate_has_nothing_to_differ_from(world):
    nothing = {"no_|-states_|-states_|-None": {"result": False, "comment": "No Top file", "__run_num__": 0}}
    world.minions.answers["state.apply"] = lambda _minion: nothing
    returned = call(world, "drift")
    assert standing(returned)["consul"] == "clean"
    found = returned["steps"]["consul"]["check"]["minions"]["consul-1"]
    assert found == {"status": "clean", "why": "no states are meant for it"}


def test_a_highstate_that_cannot_be_compiled_is_unknown(world):
    world.minions.answers["state.apply"] = lambda _minion: ["Rendering SLS 'base:a' failed"]
    returned = call(world, "drift")
    assert standing(returned)["consul"] == "unknown"
    assert "Rendering SLS" in returned["steps"]["consul"]["check"]["minions"]["consul-1"]["why"]


def test_without_a_master_the_minions_are_unknown(world):
    returned = world.call("drift", "staging", {})
    assert (returned["retcode"], standing(returned)["consul"]) == (1, "unknown")
