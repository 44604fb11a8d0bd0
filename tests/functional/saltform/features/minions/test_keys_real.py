"""Keys follow instances: tokens let the right minions in, and keys go with their instances. Terraform is real."""

from __future__ import annotations

import hashlib
import json
import re
import threading

import pytest

from saltform.features.minions import keys
from saltform.runlog import RunLog, now
from tests.support.minions import MemoryMinions
from tests.support.world import statuses

# A host keeps the token that it was made with, as an instance keeps its user data.
HOSTS = """
variable "minions" { type = list(string) }
variable "minion_tokens" {
  type      = map(string)
  sensitive = true
}
variable "image" {
  type    = string
  default = "one"
}
resource "terraform_data" "host" {
  for_each         = toset(var.minions)
  input            = { user_data = var.minion_tokens[each.key] }
  triggers_replace = var.image
  lifecycle { ignore_changes = [input] }
}
output "minions" { value = { for id, host in terraform_data.host : id => host.id } }
"""


@pytest.fixture
def minions():
    return MemoryMinions()


@pytest.fixture
def world(world, minions):
    world.module("hosts", HOSTS)
    world.components = {"consul": {"module": "hosts", "minions": ["consul-1", "consul-2"]}}
    world.minions = minions
    return world


def call(world, verb, *arguments, **given):
    return world.call(verb, *arguments, services=world.services(minions=world.minions, **given))


def deploy(world):
    return call(world, "deploy", "staging", {})


def tokens(world, component="consul"):
    """Minion → the token that its instance has, as somebody on the instance reads it."""
    state = json.loads((world.state_dir / "states" / "staging" / component / "terraform.tfstate").read_text())
    [hosts] = [item for item in state["resources"] if item["name"] == "host"]
    return {item["index_key"]: item["attributes"]["input"]["value"]["user_data"] for item in hosts["instances"]}


def accept(world, minion, key, token, author="Reactor", origin="master"):
    digest = hashlib.sha256(token.encode()).hexdigest()
    return call(world, "accept_key", minion, key, digest, author=author, origin=origin)


def comes(world, minion):
    """The minion makes a key, asks to be let in with its token, and is."""
    world.minions.knocks(minion, f"key of {minion}")
    return accept(world, minion, f"key of {minion}", tokens(world)[minion])


def known_keys(world):
    return call(world, "keys", "staging")["components"].get("consul", {})


def test_a_token_lets_exactly_its_minion_in_once(world, minions):
    assert statuses(deploy(world)) == {"consul": "applied"}
    given = tokens(world)
    assert known_keys(world)["consul-1"]["status"] == "no minion"
    minions.knocks("consul-1", "key of consul-1")
    for minion, key, token in [
        ("consul-2", "key of consul-2", given["consul-1"]),  # another's token
        ("consul-1", "key of consul-1", "guessed"),
        ("../consul-1", "key", given["consul-1"]),
        ("*", "key", given["consul-1"]),
        ("", "", ""),
    ]:
        refused = accept(world, minion, key, token)
        assert refused["retcode"] == 1, (minion, refused)
        assert refused["error"]["summary"] == "a minion's key was not accepted"
    assert minions.keys() == {"consul-1": "pending"}
    assert comes(world, "consul-1")["accepted"] is True
    assert minions.keys() == {"consul-1": "accepted"}
    assert "used at" in accept(world, "consul-1", "key of consul-1", given["consul-1"])["error"]["detail"]
    shown = known_keys(world)
    assert (shown["consul-1"]["status"], shown["consul-2"]["status"]) == ("in step", "no minion")
    assert call(world, "keys", "staging")["retcode"] == 2
    # New tokens for every plan, and nothing to do all the same.
    assert statuses(deploy(world)) == {"consul": "unchanged"}
    assert statuses(call(world, "plan", "staging", {"refresh": True})) == {"consul": "unchanged"}


@pytest.mark.parametrize(
    ("author", "origin"),
    [("alice", "master"), ("root", "master"), ("minion web-1", "minion web-1"), ("reactor", "master")],
)
def test_whoever_read_the_digest_in_the_job_cache_gets_nobody_in_with_it(world, minions, author, origin):
    """The reactor's call has it as an argument; a user of the API or a minion with peer_run could repeat that."""
    deploy(world)
    minions.knocks("consul-1", "key of mallory")
    refused = accept(world, "consul-1", "key of mallory", tokens(world)["consul-1"], author, origin)
    assert (refused["retcode"], refused["error"]["type"]) == (1, "NotAllowed")
    assert (minions.keys(), minions.deleted) == ({"consul-1": "pending"}, [])


def test_no_token_is_kept_or_said_anywhere_but_in_the_state(world):
    returned = deploy(world)
    given = set(tokens(world).values())
    assert len(given) == 2
    assert not given & set(re.findall(r"[\w-]{20,}", json.dumps([returned, world.events.fired])))
    left = [
        path
        for path in world.state_dir.rglob("*")
        if path.is_file()
        and path.name not in ("terraform.tfstate", "terraform.tfstate.backup")
        and any(token.encode() in path.read_bytes() for token in given)
    ]
    assert left == []


def test_a_token_has_a_short_life(world, minions, monkeypatch):
    monkeypatch.setattr(keys, "LIFE", -1.0)
    deploy(world)
    minions.knocks("consul-1", "key of consul-1")
    refused = comes(world, "consul-1")
    assert "its token ended at" in refused["error"]["detail"]
    assert minions.keys() == {"consul-1": "pending"}


def test_a_plan_alone_makes_no_token_good(world, minions):
    call(world, "plan", "staging", {})
    log = RunLog(world.state_dir / "runs.sqlite")
    assert log.minions.of_component("staging", "consul") == []
    log.close()


def test_a_token_in_a_plan_that_waits_for_approval_is_good_when_that_plan_is_applied(world, minions):
    approval = {"when": "always", "by": ["bob"]}
    world.infrastructure = {"environments": {"staging": {"components": world.components, "approval": approval}}}
    waiting = deploy(world)
    assert statuses(waiting) == {"consul": "awaiting approval"}, waiting
    assert {item["token"] for item in known_keys(world).values()} == {"waits for its plan to be applied"}
    world.author = "bob"
    approved = call(world, "approve", waiting["run"], None, None)
    assert approved["retcode"] == 0, approved
    world.author = "ada"
    resumed = call(world, "resume", waiting["run"])
    assert statuses(resumed) == {"consul": "applied"}, resumed
    assert comes(world, "consul-1")["accepted"] is True
    assert comes(world, "consul-2")["accepted"] is True


def test_a_plan_that_is_made_again_after_it_was_approved_is_not_asked_for_again_because_of_its_tokens(world, minions):
    """One is too old by then, and the other was a preview: both are planned again, and differ in nothing else."""
    world.components = {
        "networking": {"module": "base", "variables": {"name": "net"}},
        "consul": {**world.components["consul"], "needs": ["networking"]},
    }
    approval = {"when": "always", "by": ["bob"], "fresh_for": 0.001}
    world.infrastructure = {"environments": {"staging": {"components": world.components, "approval": approval}}}
    waiting = deploy(world)
    assert statuses(waiting) == {"networking": "awaiting approval", "consul": "deferred"}, waiting
    assert call(world, "approve", waiting["run"], author="bob")["retcode"] == 0
    resumed = call(world, "resume", waiting["run"])
    assert statuses(resumed) == {"networking": "applied", "consul": "applied"}, resumed
    assert comes(world, "consul-1")["accepted"] is True


def test_a_token_that_was_good_once_is_in_no_later_plan(world):
    """The apply fails after the hosts have their tokens: they are made again, and asked for again, with others."""
    world.module("hosts", HOSTS.replace("lifecycle", 'provisioner "local-exec" { command = "false" }\n  lifecycle'))
    approval = {"when": "always", "by": ["bob"]}
    world.infrastructure = {"environments": {"staging": {"components": world.components, "approval": approval}}}
    run = deploy(world)["run"]
    assert call(world, "approve", run, author="bob")["retcode"] == 0
    assert statuses(call(world, "resume", run)) == {"consul": "failed"}
    assert statuses(call(world, "resume", run)) == {"consul": "awaiting approval"}
    log = RunLog(world.state_dir / "runs.sqlite")
    known = log.minions.of_component("staging", "consul")
    log.close()
    assert sorted(token.minion for token in known if token.expires) == ["consul-1", "consul-2"]
    assert sorted(token.minion for token in known if not token.expires) == ["consul-1", "consul-2"]


def test_somebody_who_was_faster_with_that_name_makes_room(world, minions):
    deploy(world)
    minions.knocks("consul-1", "key of a stranger")
    first = comes(world, "consul-1")
    assert (first["accepted"], minions.deleted) == (False, ["consul-1"])
    assert "it comes again" in first["summary"]
    assert comes(world, "consul-1")["accepted"] is True
    assert minions.public_key("consul-1") == "key of consul-1"


def test_a_minion_that_asks_again_before_it_is_answered_keeps_its_key(world, minions):
    deploy(world)
    minions.knocks("consul-1", "key of consul-1")
    token = tokens(world)["consul-1"]
    answers = []
    many = [
        threading.Thread(target=lambda: answers.append(accept(world, "consul-1", "key of consul-1", token)))
        for _ in range(8)
    ]
    for each in many:
        each.start()
    for each in many:
        each.join(60)
    assert [answer.get("accepted") for answer in answers].count(True) == 1
    assert (minions.keys(), minions.deleted) == ({"consul-1": "accepted"}, [])


def test_a_key_that_somebody_accepted_by_hand_uses_the_token_up(world, minions):
    deploy(world)
    minions.comes("consul-1")
    assert comes(world, "consul-1")["accepted"] is True
    assert "used at" in comes(world, "consul-1")["error"]["detail"]
    assert minions.deleted == []


def test_a_key_that_is_gone_again_is_waited_for(world, minions):
    deploy(world)
    answer = accept(world, "consul-1", "key of consul-1", tokens(world)["consul-1"])
    assert (answer["accepted"], minions.deleted) == (False, [])
    assert comes(world, "consul-1")["accepted"] is True


def test_a_token_is_good_again_when_the_key_could_not_be_accepted(world, minions, monkeypatch):
    deploy(world)

    def fails(_minion):
        raise OSError("the disk is full")

    monkeypatch.setattr(minions, "accept", fails)
    assert comes(world, "consul-1")["retcode"] == 1
    monkeypatch.undo()
    assert comes(world, "consul-1")["accepted"] is True


def test_keys_go_with_their_instances(world, minions):
    deploy(world)
    before = tokens(world)
    for minion in ("consul-1", "consul-2"):
        comes(world, minion)
    minions.comes("web-1")  # none of ours
    # Both are made anew: the old keys go, new tokens let the new minions in.
    world.components["consul"]["variables"] = {"image": "two"}
    assert statuses(deploy(world)) == {"consul": "applied"}
    assert sorted(minions.deleted) == ["consul-1", "consul-2"]
    assert not set(tokens(world).values()) & set(before.values())
    for minion in ("consul-1", "consul-2"):
        assert comes(world, minion)["accepted"] is True
    # One is gone.
    minions.deleted.clear()
    world.components["consul"]["minions"] = ["consul-2"]
    assert statuses(deploy(world)) == {"consul": "applied"}
    assert minions.deleted == ["consul-1"]
    assert list(known_keys(world)) == ["consul-2"]
    # The component left the pillar, and is destroyed.
    minions.deleted.clear()
    world.components = {"other": {"module": "base", "variables": {"name": "other"}}}
    destroyed = call(world, "destroy", "staging", {"yes": True, "components": "consul"})
    assert statuses(destroyed) == {"consul": "destroyed"}, destroyed
    assert minions.deleted == ["consul-2"]
    assert minions.keys() == {"web-1": "accepted"}
    assert known_keys(world) == {}


CLAIMS = """
variable "claims" {
  type    = map(string)
  default = {}
}
"""
CLAIMING = HOSTS.replace("value = {", "value = merge(var.claims, {").replace("host.id }", "host.id })") + CLAIMS


@pytest.mark.parametrize("claimed", ["*", "web-?", "web-1", "../minions/web-1", "vault-1"])
def test_what_a_module_says_about_others_deletes_no_key(world, minions, claimed):
    """Its output is the module's word: first it claims another's id or a glob, then that it is gone."""
    world.module("hosts", CLAIMING)
    world.components["vault"] = {"module": "hosts", "minions": ["vault-1"]}
    consul = world.components["consul"]
    consul["variables"] = {"claims": {claimed: "i-1"}}
    assert statuses(deploy(world)) == {"consul": "applied", "vault": "applied"}
    for minion in ("web-1", "vault-1", "consul-1", "consul-2"):
        minions.comes(minion)
    consul["variables"] = {"claims": {claimed: "i-2"}}  # replaced
    assert statuses(deploy(world))["consul"] == "applied"
    consul["variables"] = {"claims": {}}  # gone
    consul["minions"] = ["consul-2"]
    assert statuses(deploy(world))["consul"] == "applied"
    assert minions.deleted == ["consul-1"]
    destroyed = call(world, "destroy", "staging", {"yes": True, "components": "consul"})
    assert statuses(destroyed) == {"consul": "destroyed"}
    assert minions.deleted == ["consul-1", "consul-2"]


def test_a_plan_that_was_never_applied_takes_no_key_away(world, minions):
    deploy(world)
    world.components["consul"]["minions"] = ["consul-1", "consul-2", "consul-3"]
    approval = {"when": "always", "by": ["bob"]}
    world.infrastructure = {"environments": {"staging": {"components": world.components, "approval": approval}}}
    assert statuses(deploy(world)) == {"consul": "awaiting approval"}
    minions.comes("consul-1", "consul-3")  # somebody accepted a machine of that name meanwhile
    world.infrastructure = {}
    assert statuses(call(world, "destroy", "staging", {"yes": True})) == {"consul": "destroyed"}
    assert (sorted(minions.deleted), minions.keys()) == (["consul-1", "consul-2"], {"consul-3": "accepted"})


def test_an_id_that_two_components_were_given_is_deleted_by_neither(world, minions):
    deploy(world)
    minions.comes("consul-1", "consul-2")
    log = RunLog(world.state_dir / "runs.sqlite")
    other = keys.MinionToken("d", "production", "consul", "consul-1", "1", now(60.0))
    log.minions.propose("production", "consul", "1", [other])
    log.close()
    assert call(world, "destroy", "staging", {"yes": True})["retcode"] == 0
    assert minions.deleted == ["consul-2"]


def test_a_new_minion_that_came_during_the_apply_keeps_its_key(world, minions):
    deploy(world)
    comes(world, "consul-1")
    old = instances_of(world)["consul-1"]
    log = RunLog(world.state_dir / "runs.sqlite")
    world.components["consul"]["variables"] = {"image": "two"}
    services = world.services(minions=minions)
    apply = services.processes.run

    def accepting(argv, **given):
        done = apply(argv, **given)
        if "apply" in argv:  # the instance is there, and the run has not looked at it yet
            minions.delete(("consul-1",))
            assert comes(world, "consul-1")["accepted"] is True
            minions.deleted.clear()
        return done

    services.processes.run = accepting
    assert statuses(world.call("deploy", "staging", {}, services=services)) == {"consul": "applied"}
    assert instances_of(world)["consul-1"] != old
    assert minions.deleted == ["consul-2"]
    assert minions.keys()["consul-1"] == "accepted"
    log.close()


def instances_of(world):
    return {minion: item["instance"] for minion, item in known_keys(world).items()}


def test_a_key_that_was_there_before_is_nobody_elses(world, minions):
    minions.comes("consul-1")
    returned = deploy(world)
    error = returned["steps"]["consul"]["error"]
    assert error["summary"] == "the minion id consul-1 is taken"
    assert "salt-key -d consul-1" in error["fix"]
    assert not (world.state_dir / "states" / "staging" / "consul" / "terraform.tfstate").exists()
    assert minions.keys() == {"consul-1": "accepted"}


def test_an_id_of_another_environment_is_refused(world, minions):
    deploy(world)
    world.infrastructure = {"environments": {"other": {"components": world.components}}}
    returned = call(world, "deploy", "other", {})
    assert "it belongs to staging/consul" in returned["steps"]["consul"]["error"]["detail"]


def test_what_a_module_lacks_is_said_before_anything_runs(world):
    world.components = {
        "base": {"module": "base", "variables": {"name": "x"}, "minions": ["a", "b/../c", "d*"]},
        "twice": {"module": "hosts", "minions": ["a", "a"]},
    }
    problems = call(world, "validate", "staging")["error"]["problems"]
    said = {(problem["path"].split("components:")[1], problem["found"]) for problem in problems}
    assert {
        ("base:minions", "'b/../c'"),
        ("base:minions", "'d*'"),
        ("twice:minions", "'a'"),
        ("base:minions:minion_tokens", "'minion_tokens'"),
        ("base:minions:minions", "'minions'"),
    } <= said


def test_a_minion_without_an_instance_is_shown_with_the_way_out(world, minions):
    deploy(world)
    comes(world, "consul-1")
    # Its instance went behind our back, and a refresh has seen that.
    path = world.state_dir / "states" / "staging" / "consul" / "terraform.tfstate"
    document = json.loads(path.read_text())
    document["serial"] += 1
    document["outputs"]["minions"]["value"] = {}
    path.write_text(json.dumps(document))
    shown = call(world, "keys", "staging")
    assert shown["components"]["consul"]["consul-1"]["status"] == "no instance"
    assert shown["notes"] == ["nobody needs these keys any more: salt-key -d consul-1"]
    assert shown["components"]["consul"]["consul-2"]["status"] == "not made yet"
    assert now() > shown["components"]["consul"]["consul-1"]["token"].removeprefix("used at ")
