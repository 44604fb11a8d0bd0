"""Minions ask for runs by events: only those on the list, only what they may, and only they themselves."""

from __future__ import annotations

import hashlib
import hmac
import importlib.util
import json
import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from saltform.bridge import requested
from saltform.features.requests.form import Asked
from saltform.features.requests.lists import keep_lists
from saltform.features.requests.slots import take_slot
from saltform.minions import PENDING
from saltform.verbs import request as request_verb
from tests.support.minions import MemoryMinions

CI = "ci-1.example.com"
NONCE = "n0123456789abcdef"
ASKED = {"environment": "staging", "nonce": NONCE}


PRIVATE = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CONFIRM = "saltform_request.confirm"


class StoringMinions(MemoryMinions):
    """Minions with a data store of one key, and with the module that they have of ours. All have one private key."""

    def __init__(self, folder):
        super().__init__()
        self.stores = {}
        self.given = []
        self.module = load_module("saltform_request")
        self.module.__opts__ = {"cachedir": str(folder), "pki_dir": str(folder)}
        private = PRIVATE.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (folder / "minion.pem").write_bytes(private)
        self.answers = {CONFIRM: self.confirm}

    def public_key(self, minion):
        return PRIVATE.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    def call(self, target, function, options, seconds, cancel, arguments=()):
        self.given.append((function, dict(options)))
        return super().call(target, function, options, seconds, cancel, arguments)

    def confirm(self, minion):
        def exchange(_key, value, old_value):
            assert self.stores[minion] == old_value
            self.stores[minion] = value
            return True

        self.module.__salt__ = {"data.get": lambda _key: self.stores.get(minion), "data.cas": exchange}
        return self.module.confirm(**self.given[-1][1])


def load_module(name):
    path = Path(__file__).parents[4] / "salt" / "_modules" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def world(world, monkeypatch, tmp_path):
    monkeypatch.setattr(requested, "SLOWED", 0.0)
    world.minions = StoringMinions(tmp_path)
    world.minions.comes(CI, "web-1")
    world.components = {"base": {"module": "base", "variables": {"name": "base"}}}
    world.requests = {CI: ["plan", "deploy"]}
    world.more = {}
    world.compiled = 0
    return world


def services(world, **given):
    environment = {"components": world.components, "requests": world.requests, **world.more}
    world.infrastructure = {**world.infrastructure, "environments": {"staging": environment}}
    return world.services(minions=world.minions, **{"author": "Reactor", "origin": "master", **given})


def stored(world, verb="deploy", asked=ASKED, minion=CI):
    """The minion itself puts the digest of its request into its data store."""
    world.minions.stores[minion] = Asked.read(verb, minion, asked).digest


def ask(world, verb="deploy", minion=CI, asked=ASKED, **given):
    """An event, whoever sent it: the reactor's call, and the process that it starts, in this one."""
    mine = services(world, **given)
    keep_lists(mine.layout, mine.pillar)  # as every verb of the runner does
    world.compiled = 0
    started = []
    mine.start_request = lambda wanted, slot: started.append((Asked(**wanted), os.dup(slot)))
    returned = world.call("request", verb, minion, asked, services=mine)
    world.answers = []
    for wanted, slot in started:
        serve(world, wanted, slot)
    return returned


def serve(world, wanted, slot):
    made = services(world)
    pillar, made.pillar = made.pillar, {}

    def compiled(_opts, _settings):
        world.compiled += 1
        return pillar

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(requested, "runner_services", lambda _dunders, _verb: made)
        patch.setattr(requested, "runner_pillar", compiled)
        requested.serve({}, wanted, lambda: None)
    os.close(slot)
    world.answers = [data for tag, data in made.events.fired if tag.startswith("saltform/answer/")]


def runs(world):
    return world.call("history", "staging", 5)["runs"]


def test_who_is_on_the_list_gets_a_run_and_its_outputs(world):
    asked = {**ASKED, "components": ["base"], "__pub_jid": "20261118035200000000"}
    stored(world, asked=asked)
    returned = ask(world, asked=asked)
    assert (returned["retcode"], returned["verb"]) == (0, "request")
    [answer] = world.answers
    assert (answer["minion"], answer["request"], answer["retcode"]) == (CI, NONCE, 0)
    assert answer["outputs"]["base"]["name"] == "base"
    assert "hush-hush-hush" not in json.dumps(answer)
    assert ("event.fire", (CI,)) in world.minions.asked
    [run] = runs(world)
    assert (run["author"], run["id"]) == (f"minion {CI}", answer["run"])


def test_one_request_is_one_run_however_often_the_event_comes(world):
    stored(world)
    ask(world)
    for _ in range(3):  # sent again, or heard by another master: whoever took it answers
        ask(world)
        assert (world.answers, world.compiled) == ([], 0)
    assert len(runs(world)) == 1


@pytest.mark.parametrize(
    ("verb", "forged"),
    [
        ("plan", {}),
        ("deploy", {"components": "base"}),
        ("deploy", {"nonce": "n9999999999999999"}),
        ("deploy", {"environment": "production"}),
    ],
)
def test_another_minion_asks_for_nothing_else_under_this_ones_name_and_uses_nothing_up(world, verb, forged):
    """Whoever forges the id knows the minion's nonce, even: what it confirms is one verb, one place, one choice."""
    stored(world)
    before = dict(world.minions.stores)
    ask(world, verb=verb, asked={**ASKED, **forged})
    [answer] = world.answers
    assert (answer["success"], answer["error"]["type"]) == (False, "NotAllowed")
    assert (runs(world), world.compiled, world.minions.stores) == ([], 0, before)
    ask(world)
    assert world.answers[0]["success"]
    assert [run["verb"] for run in runs(world)] == ["deploy"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"verb": "drift"}, "may not ask"),
        ({"verb": "approve"}, "expected one of plan, deploy, drift"),
        ({"verb": "destroy"}, "expected one of plan, deploy, drift"),
        ({"asked": {}}, "expected the name of an environment"),
        ({"asked": {**ASKED, "environment": "stagin"}}, "may not ask for a deploy of stagin"),
        ({"asked": {**ASKED, "environment": "staging\nbase"}}, "expected the name of an environment"),
        ({"asked": {**ASKED, "components": "base\n"}}, None),
        ({"asked": {**ASKED, "components": "base\nx"}}, "expected names with commas between"),
        ({"asked": {"environment": "staging", "request": "build-7"}}, "new for every request"),
        ({"asked": {**ASKED, "component": "base"}}, "'component' is no part of a request"),
        ({"asked": {**ASKED, "component": "base"}}, "Did you mean 'components'?"),
        ({"asked": {**ASKED, "on_error": "rollback"}}, "known are environment, components, nonce."),
        ({"asked": {"environment": "staging", "nonce": "short"}}, "new for every request"),
        ({"asked": {"environment": "staging", "nonce": [NONCE]}}, "new for every request"),
    ],
)
def test_everything_else_is_refused_with_an_answer_and_starts_nothing(world, given, why):
    stored(world, given.get("verb", "deploy"), given.get("asked", ASKED))
    ask(world, **given)
    [answer] = world.answers
    if why is None:  # white space around a name is none of it
        assert answer["success"]
        return
    assert answer["success"] is False
    assert why in json.dumps(answer["error"])
    assert (runs(world), world.compiled) == ([], 0)
    assert CONFIRM not in [function for function, _options in world.minions.given]


@pytest.mark.parametrize("minion", ["web-1", "ci-*", "", "../ci-1.example.com", "x" * 500, "ci-1.example.com\n"])
def test_an_id_that_is_on_no_list_costs_nothing(world, minion):
    """No process, no question to a minion, no pillar, no answer."""
    returned = ask(world, minion=minion)
    assert returned["error"]["type"] == "NotAllowed"
    assert (world.answers, world.compiled, world.minions.given) == ([], 0, [])
    assert not (world.state_dir / "requests").exists()


def test_who_left_the_list_is_refused_by_the_pillar_itself(world):
    """The copy on disk is older than the pillar."""
    stored(world)
    keep_lists(services(world).layout, services(world).pillar)
    world.requests = {CI: ["plan"]}
    serve(world, Asked.read("deploy", CI, ASKED), os.open(os.devnull, os.O_RDONLY))
    assert "may not ask for a deploy of staging any more" in world.answers[0]["error"]["detail"]
    assert runs(world) == []


@pytest.mark.parametrize(
    "answer",
    [
        lambda digest: True,
        lambda digest: f"'{CONFIRM}' is not available.",
        lambda digest: {"held": digest},
        lambda digest: {"held": digest, "proof": hmac.new(b"", digest.encode(), hashlib.sha256).hexdigest()},
        lambda digest: {"held": digest, "proof": "é"},
    ],
)
def test_an_answer_that_another_minion_forged_is_not_believed(world, answer):
    """It knows the digest, which is in the question that all minions hear, but not the secret."""
    digest = Asked.read("deploy", CI, ASKED).digest
    world.minions.answers[CONFIRM] = lambda _minion: answer(digest)
    ask(world)
    assert world.answers[0]["error"]["type"] == "NotAllowed"
    assert "saltutil.sync_modules" in world.answers[0]["error"]["fix"]
    assert (runs(world), world.compiled) == ([], 0)


def test_a_key_that_only_waits_under_a_listed_id_confirms_nothing(world):
    """Whoever knocks under the id of a minion that isn't there yet has a private key, too."""
    world.minions.held[CI] = (PENDING, "")
    stored(world)
    ask(world)
    assert "its key is not accepted" in world.answers[0]["error"]["detail"]
    assert runs(world) == []


def test_a_minion_that_does_not_answer_is_not_believed(world):
    stored(world)
    world.minions.here.discard(CI)
    ask(world)
    assert "it does not answer" in world.answers[0]["error"]["detail"]
    assert runs(world) == []


def test_a_flood_under_one_id_starts_two_processes_and_the_minions_own_event_gets_through(world):
    layout = services(world).layout
    forged = [Asked.read("deploy", CI, {**ASKED, "nonce": f"forged-{number:016}"}) for number in range(5)]
    held = [take_slot(layout, each) for each in forged[:2]]
    started = []
    for each in forged[2:]:
        mine = services(world)
        keep_lists(mine.layout, mine.pillar)
        mine.start_request = lambda *given: started.append(given)
        refused = world.call("request", "deploy", CI, vars(each), services=mine)
        assert "too many requests under its name" in refused["error"]["detail"]
    assert started == []
    # The minion asks itself, and its event is one of too many. One of the forged ones is looked at …
    stored(world)
    assert "too many" in ask(world)["error"]["detail"]
    serve(world, forged[0], os.dup(held[0]))
    # … and what the minion's data store holds is known from now on: sent again, its event gets through.
    assert ask(world)["retcode"] == 0
    assert world.answers[0]["success"]
    assert len(runs(world)) == 1
    for slot in held:
        os.close(slot)


def test_a_request_that_nobody_confirmed_keeps_its_slot_for_a_while(world, monkeypatch):
    monkeypatch.setattr(requested, "SLOWED", 7.5)
    waited = []
    mine = services(world)
    monkeypatch.setattr(mine.cancel, "wait", waited.append)
    monkeypatch.setattr(requested, "runner_services", lambda _dunders, _verb: mine)
    keep_lists(mine.layout, mine.pillar)
    freed = []
    requested.serve({}, Asked.read("deploy", CI, ASKED), lambda: freed.append(True))
    assert (waited, freed) == ([7.5], [])


@pytest.mark.parametrize(
    "given", [{"author": "alice"}, {"author": "root"}, {"author": "Reactor ", "origin": "master"}]
)
def test_a_user_of_the_api_cannot_speak_for_a_minion(world, given):
    stored(world)
    returned = ask(world, **given)
    assert returned["error"]["type"] == "NotAllowed"
    assert (world.answers, runs(world)) == ([], [])


def test_a_plan_that_needs_a_person_waits_for_one_whoever_asked(world):
    world.more = {"approval": {"when": "always", "by": ["bob"]}}
    stored(world)
    ask(world)
    assert (world.answers[0]["retcode"], runs(world)[0]["status"]) == (3, "waiting")


def test_roles_are_for_users_and_the_list_is_for_minions(world):
    world.infrastructure = {"roles": {"deployer": {"staging": ["alice"]}}}
    stored(world)
    ask(world)
    assert world.answers[0]["retcode"] == 0


def test_a_list_with_globs_or_approvals_is_a_problem(world):
    world.requests = {CI: ["deploy", "approve"], "ci-*": ["deploy"]}
    stored(world)
    ask(world)
    problems = world.answers[0]["error"]["problems"]
    assert {problem["path"].rsplit("requests:", 1)[1] for problem in problems} == {"ci-*", CI}


def test_outputs_that_are_too_large_for_an_event_are_left_out_and_that_is_said(world, monkeypatch):
    monkeypatch.setattr(request_verb, "LARGEST", 10)
    stored(world)
    ask(world)
    assert (world.answers[0]["outputs"], "too large" in world.answers[0]["note"]) == ({}, True)
