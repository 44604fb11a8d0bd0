"""Approval on real Terraform: what waits, who decides, what is applied then, and what is not."""

from __future__ import annotations

import dataclasses
import sqlite3
from datetime import datetime, timedelta, timezone

import pytest

from saltform.report import markdown, text
from saltform.runlog import RunLog
from saltform.runlog.approvals import Decision
from saltform.verbs import component_commands, component_states
from tests.support.world import statuses

RULE = {"when": "always", "by": ["@sre"], "not_author": True}


@pytest.fixture
def asked(world):
    """A deploy by ada of networking and of consul, which needs it; alice and bob are the ones to approve."""
    world.components = {
        "networking": {"module": "base", "variables": {"name": "net"}},
        "consul": {"module": "app", "inputs": {"base": "@networking.id"}},
    }
    world.infrastructure = {"groups": {"sre": ["alice", "bob"]}}
    rule(world)
    return world


def rule(world, **changes):
    world.infrastructure["environments"] = {
        "staging": {"components": world.components, "approval": {**RULE, **changes}}
    }


def as_(world, who, verb, *arguments, origin="master"):
    return world.call(verb, *arguments, services=world.services(author=who, origin=origin))


def resume(world, run):
    return world.call("resume", run)


def clock(monkeypatch, **offset):
    """Everybody's clock, so much later."""

    def now(seconds=0.0):
        moment = datetime.now(timezone.utc) + timedelta(seconds=seconds) + timedelta(**offset)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    for module in ("features.approval.approving", "features.approval.decisions", "verbs.approvals"):
        monkeypatch.setattr(f"saltform.{module}.now", now)


def kept(world, run):
    return sorted(path.name for path in (world.state_dir / "runs" / run / "plans").glob("*"))


def applied(world):
    return "apply" in world.processes.commands()


def database(world, sql):
    with sqlite3.connect(world.state_dir / "runs.sqlite") as connection:
        connection.execute(sql)
    connection.close()


def test_a_run_waits_is_approved_and_applies_exactly_that_plan(asked):
    """From the question to the end: one approval covers what waits and what needs it, and no process waited."""
    waiting = asked.deploy()
    run = waiting["run"]
    assert (waiting["retcode"], waiting["success"]) == (3, False)
    assert statuses(waiting) == {"networking": "awaiting approval", "consul": "deferred"}
    assert not applied(asked)
    assert waiting["steps"]["consul"]["approval"]["preview"]
    assert kept(asked, run) == ["consul.meaning", "networking.meaning", "networking.plan"]
    assert not list(asked.state_dir.rglob(".plan"))
    for path in (asked.state_dir / "runs" / run / "plans").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
        assert b"net" not in path.read_bytes()
        assert b"PK\x03\x04" not in path.read_bytes()  # as every plan file begins
    assert (asked.state_dir / "plans.key").stat().st_mode & 0o777 == 0o600
    shown = text.render(waiting)
    assert f"salt-run infrastructure.approve {run}" in shown
    assert "1 deferred, 1 awaiting approval" in shown
    told = dict(asked.events.fired)[f"saltform/approval/staging/{run}"]
    assert (told["what"], told["components"]["networking"]["by"]) == ("asked", ["@sre"])
    assert f"saltform/run/{run}/networking/awaiting_approval" in dict(asked.events.fired)
    assert asked.call("locks", "staging")["locks"] == {}
    assert f"run {run} (deploy by ada) waits for approval" in text.render(asked.call("status", "staging"))

    still = resume(asked, run)
    assert (still["retcode"], asked.processes.commands()) == (3, [])
    assert statuses(still) == {"networking": "awaiting approval", "consul": "deferred"}

    approved = as_(asked, "alice", "approve", run, None, "fine")
    assert (approved["retcode"], approved["requests"]["networking"]["approved_by"]) == (0, ["alice"])
    assert f"salt-run infrastructure.resume {run}" in text.render(approved)

    done = resume(asked, run)
    assert (done["retcode"], statuses(done)) == (0, {"networking": "applied", "consul": "applied"})
    commands = asked.processes.commands()
    assert (commands.count("plan"), commands.count("apply")) == (1, 2)  # only consul is planned again
    assert done["steps"]["consul"]["approved_by"] == ["alice"]
    assert kept(asked, run) == []
    assert asked.call("approvals", None)["requests"] == []
    actions = [(item["action"], item["author"]) for item in asked.call("audit", "staging", None, True)["entries"]]
    assert actions == [
        ("deploy", "ada"),
        ("resume", "ada"),
        ("deploy", "ada"),
        ("approve", "alice"),
        ("resume", "ada"),
        ("apply", "ada"),
        ("apply", "ada"),
        ("deploy", "ada"),
    ]
    assert asked.deploy()["retcode"] == 0


def test_two_people_have_to_agree_and_nobody_counts_twice(asked):
    rule(asked, count=2)
    run = asked.deploy(components=["networking"])["run"]
    assert "1 of 2 have approved" in as_(asked, "alice", "approve", run)["notes"][0]
    as_(asked, "alice", "approve", run)
    assert resume(asked, run)["retcode"] == 3
    assert as_(asked, "carol", "approve", run)["error"]["type"] == "NotAllowed"
    assert "bob would approve" in as_(asked, "bob", "approve", run, "networking", None, "True")["summary"]
    assert resume(asked, run)["retcode"] == 3
    as_(asked, "bob", "approve", run)
    assert statuses(resume(asked, run)) == {"networking": "applied"}


@pytest.mark.parametrize(
    ("who", "origin", "why"),
    [
        ("carol", "master", "not among @sre"),
        ("ada", "master", "not among @sre"),
        ("root", "master", "at the master's own shell"),
        ("sudo_alice", "master", "at the master's own shell"),
        ("Reactor", "master", "only a person"),
        ("unknown", "engine", "only a person"),
        ("minion web-1", "minion web-1", "only a person"),
    ],
)
def test_who_is_not_named_does_not_approve(asked, who, origin, why):
    run = asked.deploy(components=["networking"])["run"]
    refused = as_(asked, who, "approve", run, origin=origin)
    assert (refused["retcode"], refused["error"]["type"]) == (1, "NotAllowed")
    assert why in refused["error"]["detail"]
    assert RunLog(asked.state_dir / "runs.sqlite").approvals.decisions(run) == []


def test_whoever_asked_does_not_approve_but_root_at_the_shell_can(asked):
    rule(asked, by=["ada", "alice"])
    run = asked.deploy(components=["networking"])["run"]
    assert "ada asked for the run" in as_(asked, "ada", "approve", run)["error"]["detail"]
    assert as_(asked, "root", "approve", run, origin="shell")["retcode"] == 0
    assert resume(asked, run)["retcode"] == 0


def test_a_rejected_plan_is_never_applied(asked):
    run = asked.deploy()["run"]
    assert "bob would reject" in as_(asked, "bob", "reject", run, None, "no", "True")["summary"]
    assert asked.call("approvals", "staging")["requests"][0]["standing"] == "waiting"
    rejected = as_(asked, "bob", "reject", run, None, "not today")
    assert rejected["retcode"] == 0
    assert kept(asked, run) == []
    shown = asked.call("show", run)
    assert (shown["run"]["status"], statuses(shown)) == (
        "cancelled",
        {"networking": "cancelled", "consul": "cancelled"},
    )
    assert shown["steps"]["networking"]["reason"] == "rejected by bob: not today"
    assert "rejected by bob" in as_(asked, "alice", "approve", run)["error"]["detail"]
    resumed = resume(asked, run)
    assert (resumed["retcode"], resumed["steps"]["networking"]["status"]) == (130, "cancelled")
    assert "rejected by bob" in resumed["steps"]["networking"]["error"]["detail"]
    assert not applied(asked)


@pytest.mark.parametrize("on_error", ["stop", "rollback"])
def test_what_was_approved_goes_on_when_something_else_was_rejected(asked, on_error):
    asked.components = {name: {"module": "base", "variables": {"name": name}} for name in ("a-no", "b-yes", "c-yes")}
    rule(asked)
    run = asked.deploy(on_error=on_error, parallelism=1)["run"]
    as_(asked, "bob", "reject", run, "a-no", "not today")
    as_(asked, "alice", "approve", run, "b-yes,c-yes")
    resumed = resume(asked, run)
    assert statuses(resumed) == {"a-no": "cancelled", "b-yes": "applied", "c-yes": "applied"}
    assert (resumed["retcode"], "rollback" in resumed) == (130, False)


def test_what_waited_in_a_run_that_was_undone_is_not_asked_for_any_more(asked):
    asked.components = {
        "made": {"module": "base", "variables": {"name": "made"}, "approval": {"when": "never"}},
        "waits": {"module": "base", "variables": {"name": "waits"}},
        "fails": {"module": "shell", "variables": {"command": "false"}, "approval": {"when": "never"}},
    }
    rule(asked)
    undone = asked.deploy(on_error="rollback")
    assert statuses(undone)["waits"] == "awaiting approval" and undone["rollback"]["retcode"] == 0, undone
    assert asked.call("approvals", None)["requests"] == []
    assert kept(asked, undone["run"]) == []


def test_one_component_is_approved_and_the_others_wait(asked):
    asked.components = {name: {"module": "base", "variables": {"name": name}} for name in ("one", "two")}
    rule(asked)
    run = asked.deploy()["run"]
    as_(asked, "alice", "approve", run, "one")
    assert statuses(resume(asked, run)) == {"one": "applied", "two": "awaiting approval"}
    listed = asked.call("approvals", "staging")
    assert [(item["component"], item["standing"]) for item in listed["requests"]] == [("two", "waiting")]
    assert "staging/two" in text.render(listed)
    as_(asked, "alice", "reject", run)
    assert asked.call("show", run)["run"]["status"] == "cancelled"


def test_who_lost_the_right_meanwhile_does_not_count(asked):
    run = asked.deploy(components=["networking"])["run"]
    assert as_(asked, "alice", "approve", run)["retcode"] == 0
    asked.infrastructure["groups"] = {"sre": ["bob"]}
    waiting = resume(asked, run)
    assert (waiting["retcode"], applied(asked)) == (3, False)
    assert "alice no longer counts" in waiting["steps"]["networking"]["approval"]["note"]
    as_(asked, "bob", "approve", run)
    assert resume(asked, run)["retcode"] == 0


@pytest.mark.parametrize("what", ["networking.plan", "networking.meaning"])
def test_an_altered_plan_is_not_applied(asked, what):
    run = asked.deploy(components=["networking"])["run"]
    as_(asked, "alice", "approve", run)
    path = asked.state_dir / "runs" / run / "plans" / what
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    if what == "networking.meaning":
        rule(asked, fresh_for=0.001)  # so that it has to be planned and compared
    refused = resume(asked, run)
    assert (refused["retcode"], applied(asked)) == (1, False)
    assert "can't be decrypted" in refused["steps"]["networking"]["error"]["detail"]


def test_a_plan_of_another_run_is_not_applied(asked):
    """Both the file and the approval of another run are of no use."""
    first = asked.deploy(components=["networking"])["run"]
    second = asked.deploy(components=["networking"])["run"]
    as_(asked, "alice", "approve", first)
    assert resume(asked, second)["retcode"] == 3
    as_(asked, "alice", "approve", second)
    plans = asked.state_dir / "runs"
    (plans / second / "plans" / "networking.plan").write_bytes(
        (plans / first / "plans" / "networking.plan").read_bytes()
    )
    assert "not of this run" in resume(asked, second)["steps"]["networking"]["error"]["detail"]
    assert not applied(asked)


def test_an_approval_of_another_plan_does_not_count(asked):
    run = asked.deploy(components=["networking"])["run"]
    log = RunLog(asked.state_dir / "runs.sqlite")
    (request,) = log.approvals.of_run(run).values()
    good = Decision(run, "networking", request.digest, "alice", "master", "approved", "", request.asked)
    for wrong in ({"digest": "0" * 64}, {"component": "consul"}, {"run": "1"}):
        log.approvals.decide([dataclasses.replace(good, **wrong)])
        assert resume(asked, run)["retcode"] == 3
    log.approvals.decide([good])
    log.close()
    assert resume(asked, run)["retcode"] == 0


def test_a_digest_that_was_changed_on_record_is_not_applied(asked):
    run = asked.deploy(components=["networking"])["run"]
    as_(asked, "alice", "approve", run)
    database(asked, "UPDATE requests SET plan = 'forged'")
    assert "digest is on record" in resume(asked, run)["steps"]["networking"]["error"]["detail"]
    assert not applied(asked)


def test_an_old_plan_is_made_again_and_the_approval_stands_if_it_is_the_same(asked):
    rule(asked, fresh_for=0.001)
    run = asked.deploy(components=["networking"])["run"]
    as_(asked, "alice", "approve", run)
    done = resume(asked, run)
    assert (done["retcode"], asked.processes.commands().count("plan")) == (0, 1)
    assert done["steps"]["networking"]["approved_by"] == ["alice"]


def test_a_state_that_moved_makes_it_ask_again(asked):
    """Somebody's plain terraform came in between: what would be done now is not what was approved."""
    rule(asked, when="never")
    assert asked.deploy(components=["networking"])["retcode"] == 0
    rule(asked)
    asked.components["networking"]["variables"]["name"] = "other"
    rule(asked)
    run = asked.deploy(components=["networking"])["run"]
    as_(asked, "alice", "approve", run)
    services = asked.services()
    component_commands.state_rm(services, "staging/networking", "terraform_data.this")
    services.close()
    again = resume(asked, run)
    assert (again["retcode"], applied(asked)) == (3, False)
    assert again["steps"]["networking"]["approval"]["why"][0] == "what would be done now is not what was approved"
    as_(asked, "alice", "approve", run)
    assert resume(asked, run)["retcode"] == 0


def test_a_request_expires_is_reminded_of_and_asked_anew(asked, monkeypatch):
    run = asked.deploy(components=["networking"])["run"]

    def told():
        asked.call("approvals", None)
        return [data["what"] for tag, data in asked.events.fired if tag == f"saltform/approval/staging/{run}"]

    assert told() == []
    clock(monkeypatch, hours=20)
    assert (told(), told()) == (["expiring"], [])
    as_(asked, "alice", "approve", run)
    clock(monkeypatch, hours=25)
    assert (told(), told()) == (["expired"], [])
    assert "expired at" in as_(asked, "bob", "approve", run)["error"]["detail"]
    assert (resume(asked, run)["retcode"], applied(asked)) == (3, False)
    as_(asked, "bob", "approve", run)
    assert resume(asked, run)["retcode"] == 0


def test_a_clock_that_went_backwards_applies_nothing(asked, monkeypatch):
    run = asked.deploy(components=["networking"])["run"]
    as_(asked, "alice", "approve", run)
    clock(monkeypatch, hours=-1)
    refused = resume(asked, run)
    assert (refused["retcode"], applied(asked)) == (1, False)
    assert "the clock went backwards" in refused["steps"]["networking"]["error"]["detail"]
    assert "the clock went backwards" in as_(asked, "bob", "approve", run)["error"]["detail"]


def test_destructive_asks_for_what_destroys_and_for_nothing_else(asked):
    rule(asked, when="destructive", by=[], not_author=False)
    assert asked.deploy()["retcode"] == 0
    asked.components["networking"]["variables"]["name"] = "replace-me"
    rule(asked, when="destructive", by=[], not_author=False)
    assert statuses(asked.deploy(components=["networking"])) == {"networking": "awaiting approval"}


def test_a_destroy_is_asked_for_once_and_done_in_order(asked):
    rule(asked, when="never")
    assert asked.deploy()["retcode"] == 0
    rule(asked, when="destructive")
    waiting = asked.destroy()
    run = waiting["run"]
    assert (waiting["retcode"], statuses(waiting)) == (3, {"consul": "awaiting approval", "networking": "deferred"})
    as_(asked, "alice", "approve", run)
    done = resume(asked, run)
    assert (done["retcode"], statuses(done)) == (0, {"consul": "destroyed", "networking": "destroyed"})


def test_a_component_has_a_rule_of_its_own_and_others_go_on(asked):
    asked.components["networking"]["approval"] = {"when": "changes", "by": ["carol"]}
    asked.components["other"] = {"module": "base", "variables": {"name": "other"}}
    rule(asked, when="never")
    waiting = asked.deploy()
    assert statuses(waiting) == {"networking": "awaiting approval", "other": "applied", "consul": "pending"}
    assert waiting["steps"]["consul"]["reason"] == "needs networking, which awaits approval"
    assert as_(asked, "alice", "approve", waiting["run"])["error"]["type"] == "NotAllowed"
    assert asked.deploy(components=["other"], refresh=True)["retcode"] == 0  # another run, meanwhile
    as_(asked, "carol", "approve", waiting["run"])
    assert resume(asked, waiting["run"])["retcode"] == 0


def test_a_run_that_came_after_and_touched_the_same_ends_the_waiting(asked):
    run = asked.deploy(components=["networking"])["run"]
    as_(asked, "alice", "approve", run)
    rule(asked, when="never")
    assert asked.deploy(components=["networking"])["retcode"] == 0
    assert "came after it" in resume(asked, run)["error"]["detail"]
    listed = asked.call("approvals", "staging")
    assert (listed["requests"], listed["summary"]) == ([], "0 plans wait for approval")
    assert [f"run {run} can't be resumed" in note and "came after it" in note for note in listed["notes"]] == [True]
    (note,) = asked.call("status", "staging")["notes"]
    assert "can't be resumed" in note and f"abandon {run}" in note
    assert "came after it" in as_(asked, "bob", "approve", run)["error"]["detail"]
    assert asked.call("abandon", run)["retcode"] == 0
    assert kept(asked, run) == []
    assert as_(asked, "bob", "approve", run)["error"]["summary"] == f"nothing of run {run} waits for approval"


def test_a_run_that_waits_for_a_name_that_is_gone_does_not_build_it_twice(asked):
    del asked.components["consul"]
    rule(asked, when="never")
    assert asked.deploy()["retcode"] == 0
    rule(asked)
    asked.components["networking"]["variables"] = {"name": "changed"}
    waiting = asked.deploy()["run"]
    rule(asked, when="never")
    del asked.components["networking"]
    asked.components["network"] = {"module": "base", "variables": {"name": "net"}, "renamed_from": "networking"}
    assert statuses(asked.deploy()) == {"network": "unchanged"}
    refused = resume(asked, waiting)
    assert (refused["retcode"], refused["error"]["detail"]) == (1, "networking became network since")
    assert waiting in refused["error"]["fix"]


def test_a_later_plan_that_does_more_than_was_shown_asks_again(asked):
    """The preview could not know how many there will be; so it covers nothing, and the real plan is asked about."""
    asked.components = {
        "networking": {"module": "base", "variables": {"name": "net"}},
        "listed": {"module": "counted", "variables": {"names": ["a"]}, "needs": ["networking"]},
    }
    rule(asked)
    run = asked.deploy()["run"]
    as_(asked, "alice", "approve", run, "networking")
    half = resume(asked, run)
    assert statuses(half) == {"networking": "applied", "listed": "awaiting approval"}
    as_(asked, "alice", "approve", run)
    assert resume(asked, run)["retcode"] == 0


@pytest.mark.parametrize("render", [text.render, markdown.render])
def test_what_waits_can_be_read_by_whoever_decides(asked, render):
    run = asked.deploy()["run"]
    shown = render(asked.call("show", run))
    assert 'input: "net"' in shown
    assert "hush" not in shown


def test_the_questions_that_make_no_sense_are_refused(asked):
    assert asked.call("approve", None)["error"]["summary"] == "bad argument 'run'"
    assert asked.call("approve", "last")["error"]["summary"] == "bad argument 'run'"
    assert asked.call("approve", "1")["error"]["type"] == "UnknownName"
    run = asked.deploy(components=["networking"])["run"]
    assert "Did you mean 'networking'" in as_(asked, "alice", "approve", run, "networkin")["error"]["detail"]


def test_a_plan_that_cant_be_read_is_neither_shown_nor_applied(asked, monkeypatch):
    monkeypatch.setattr("saltform.engine.plan_values.show.run", lambda *_: {"format_version": "1.2", "errored": True})
    failed = asked.deploy(components=["networking"])
    assert (failed["retcode"], applied(asked)) == (1, False)
    assert failed["steps"]["networking"]["error"]["type"] == "PlanError"
    assert asked.call("approvals", None)["requests"] == []


def test_a_state_awaits_approval_and_says_what_to_do(asked):
    """Nothing is done by a highstate that a person has to agree to; its state is not met until they did."""

    def state(function, name):
        services = asked.services()
        try:
            return getattr(component_states, function)(services, f"staging/{name}", {}, False)
        finally:
            services.close()

    found = state("present", "networking")
    assert (found["result"], found["changes"]) == (False, {})
    run = found["comment"].rsplit(" ", 1)[1]
    assert found["comment"].endswith(f"salt-run infrastructure.approve {run}")
    assert not applied(asked)
    as_(asked, "alice", "approve", run)
    assert resume(asked, run)["retcode"] == 0
    assert state("present", "networking")["result"] is True
    gone = state("absent", "networking")
    assert (gone["result"], gone["changes"], applied(asked)) == (False, {}, False)
    assert "infrastructure.approve" in gone["comment"]


def test_nothing_that_waits_on_disk_holds_a_secret(asked):
    asked.deploy()
    holding = [
        path
        for path in asked.state_dir.rglob("*")
        if path.is_file() and "modules" not in path.parts and b"hush-hush-hush" in path.read_bytes()
    ]
    assert [path for path in holding if "workspaces" not in path.parts] == []


def test_one_person_is_not_two_approvers_by_two_spellings_of_one_name(asked):
    """Salt hands on the name as it was typed; PAM and LDAP know several spellings of it for one user."""
    rule(asked, by=["alice", "Alice", "bob"], count=2)
    run = asked.deploy()["run"]
    assert as_(asked, "alice", "approve", run)["retcode"] == 0
    assert as_(asked, "Alice", "approve", run)["requests"]["networking"]["approved_by"] == ["Alice"]
    assert (resume(asked, run)["retcode"], applied(asked)) == (3, False)
    assert as_(asked, "bob", "approve", run)["retcode"] == 0
    assert resume(asked, run)["retcode"] == 0


def test_whoever_asked_does_not_approve_under_another_spelling(asked):
    rule(asked, by=["ada", "Ada"])
    run = asked.deploy()["run"]
    assert "Ada asked for the run" in as_(asked, "Ada", "approve", run)["error"]["detail"]


def test_people_are_not_counted_where_nobody_names_them(asked):
    rule(asked, by=[], count=2)
    found = asked.deploy()["error"]["problems"]
    assert {problem["path"].rsplit(":", 1)[1] for problem in found} == {"count", "not_author"}
