"""Where one-time tokens can't get through: who is warned, who is refused, and before anything is created."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from saltform.config.settings import MANUAL
from saltform.engine.context import EnvironmentContext
from saltform.features.minions.key_tokens import check_tokens, obstacle
from saltform.minions import NoMinions, SaltMaster
from saltform.verbs.preflight import KNOWN_SALT
from tests.support.minions import MemoryMinions
from tests.support.world import World, fake_terraform

GOOD = SaltMaster("3008.3", ("pend", "denied"))
OLD = SaltMaster("3006.30", ("pend", "denied"))
UNSET = SaltMaster("3008.3")
HOSTS = """
variable "minions" { type = list(string) }
variable "minion_tokens" { type = map(string) }
output "minions" { value = {} }
"""


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path, fake_terraform(tmp_path))
    world.module("hosts", HOSTS)
    return world


@pytest.fixture
def minions():
    return MemoryMinions()


def call(world, minions, verb, master, *, converge=False, keys="tokens"):
    web = {"module": "hosts", "minions": ["web-1", "web-2"]} | ({"converge": {"timeout": "1s"}} if converge else {})
    world.components = {"web": web, "plain": {"module": "base", "variables": {"name": "x"}}}
    services = world.services(master=master, minions=minions)
    services.settings = dataclasses.replace(services.settings, keys=keys)
    return world.call(verb, "staging", {} if verb == "deploy" else None, services=services)


def found(returned, name="minion keys"):
    return [item for item in returned["checks"] if item["check"] == name]


def test_nothing_is_in_the_way_of_a_master_that_hands_tokens_on():
    assert obstacle(GOOD) is None
    assert obstacle(None) is None


@pytest.mark.parametrize(
    ("master", "said"),
    [
        (OLD, "Salt 3006.30 is older than 3008"),
        (SaltMaster("3007.17"), "Salt 3007.17 is older than 3008"),
        (UNSET, "the master's configuration has nothing as auth_events_autosign_grains"),
        (SaltMaster("3008.3", ("full",)), "the master's configuration has full as auth_events_autosign_grains"),
    ],
)
def test_which_of_the_two_it_is_is_said(master, said):
    assert said in obstacle(master).why


@pytest.mark.parametrize("master", [OLD, UNSET])
def test_preflight_warns_and_its_exit_code_stays(world, minions, master):
    without, returned = call(world, minions, "preflight", GOOD), call(world, minions, "preflight", master)
    (check,) = found(returned)
    assert (check["component"], check["ok"], check["warning"]) == ("web", True, True)
    assert obstacle(master).why in check["detail"]
    assert "salt-key -a web-1; salt-key -a web-2" in check["fix"]
    assert returned["retcode"] == without["retcode"]
    assert returned["summary"] == f"{without['summary']}, 1 warning"
    assert not found(without)[0]["warning"]


@pytest.mark.parametrize("master", [OLD, UNSET])
def test_preflight_fails_only_for_what_would_wait_for_keys_that_are_not_accepted(world, minions, master):
    (check,) = found(call(world, minions, "preflight", master, converge=True))
    assert (check["ok"], check["warning"]) == (False, False)
    assert "converge would wait for web-1, web-2 in vain" in check["detail"]
    minions.comes("web-1")
    (check,) = found(call(world, minions, "preflight", master, converge=True))
    assert (check["ok"], "for web-2 in vain" in check["detail"]) == (False, True)
    (check,) = found(call(world, minions, "preflight", master, converge=True, keys=MANUAL))
    assert (check["ok"], check["warning"]) == (True, True)
    minions.comes("web-2")
    (check,) = found(call(world, minions, "preflight", master, converge=True))
    assert (check["ok"], check["warning"]) == (True, True)
    assert found(call(world, minions, "preflight", GOOD, converge=True))[0]["ok"]


@pytest.mark.parametrize("master", [OLD, UNSET])
def test_deploy_refuses_that_one_before_anything_is_created(world, minions, master):
    returned = call(world, minions, "deploy", master, converge=True)
    assert returned["retcode"] == 1
    assert returned["error"]["summary"] == "staging/web would wait for minions that nobody lets in"
    assert obstacle(master).why in returned["error"]["detail"]
    assert "saltform: {keys: manual}" in returned["error"]["fix"]
    assert "steps" not in returned, "not even what comes before it"
    assert world.processes.started == []


@pytest.mark.parametrize(("converge", "keys"), [(False, "tokens"), (True, MANUAL)])
def test_deploy_notes_what_a_person_has_to_do(world, minions, converge, keys):
    minions.comes("web-1")
    returned = call(world, minions, "deploy", OLD, converge=converge, keys=keys)
    assert "plain" in returned["steps"]
    (note,) = [note for note in returned["notes"] if "accept_key" in note]
    assert "salt-key -a web-2" in note and "web-1" not in note


def test_deploy_asks_for_no_key_where_tokens_get_through(world, minions, monkeypatch):
    monkeypatch.setattr(minions, "keys", lambda: pytest.fail("a question that costs a fifth of a second"))
    world.components = {"web": {"module": "hosts", "minions": ["web-1"]}}
    services = world.services(master=GOOD, minions=minions)
    with EnvironmentContext(services, "staging") as context:
        assert check_tokens(context, ["web"]) == []


def test_keys_that_cannot_be_read_are_one_line_of_the_table(world):
    (check,) = found(call(world, NoMinions(), "preflight", OLD))
    assert (check["ok"], "can't be asked from here" in check["detail"]) == (False, True)


def test_preflight_says_that_it_does_not_know_a_salt_and_passes(world, minions):
    (known,) = found(call(world, minions, "preflight", GOOD), "salt")
    assert (known["detail"], known["warning"]) == ("Salt 3008.3", False)
    for version in ("3005.4", "3009.0", "4000.1", "unknown"):
        (check,) = found(call(world, minions, "preflight", SaltMaster(version, ("pend",))), "salt")
        assert (check["ok"], check["warning"]) == (True, True)
        assert check["detail"] == f"Salt {version} is none that this Saltform knows (3006 to 3008)"


def test_the_salts_that_preflight_knows_are_those_that_can_be_installed():
    setup = (Path(__file__).parents[5] / "setup.py").read_text()
    assert re.search(r"salt>=(\d+),<(\d+)", setup).groups() == (str(KNOWN_SALT.start), str(KNOWN_SALT.stop))
