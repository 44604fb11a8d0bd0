"""Runs that died, failed or were cancelled: recognisable, and continued from the first step that isn't done."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from saltform.layout import Layout
from saltform.runlog import RunLog
from tests.support.runner_process import start
from tests.support.world import statuses


def wait_for(condition, what: str, seconds: float = 60):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.05)
    return found


def last_run(world):
    log = RunLog(Layout(world.state_dir).runlog)
    try:
        return log.run("last")
    finally:
        log.close()


@pytest.fixture
def slow(world, tmp_path):
    """`first`, then `second` that works until a file is there, then `third`."""
    gate, begun = tmp_path / "gate", tmp_path / "begun"
    command = f"touch {begun}; while ! test -e {gate}; do sleep 0.1; done"
    world.gate, world.begun = gate, begun
    world.components = {
        "first": {"module": "base", "variables": {"name": "one"}},
        "second": {"module": "shell", "variables": {"command": command}, "needs": ["first"]},
        "third": {"module": "base", "variables": {"name": "three"}, "needs": ["second"]},
    }
    return world


def killed_in_second(world):
    process = start(world, "deploy")
    wait_for(world.begun.exists, "the second component")
    process.kill()
    process.communicate()
    return last_run(world).id


def test_a_killed_run_is_dead_and_resume_goes_on_with_what_is_not_done(slow):
    run = killed_in_second(slow)
    notes = slow.call("status", "staging")["notes"]
    assert any(f"run {run} " in note and "is dead since" in note and "resume or abandon" in note for note in notes)
    slow.gate.touch()
    slow.author = "bob"
    returned = slow.call("resume", None)
    assert (returned["retcode"], returned["verb"], returned["run"]) == (0, "deploy", run)
    assert statuses(returned) == {"first": "applied", "second": "applied", "third": "applied"}
    planned = [argv for argv in slow.processes.started if "plan" in argv]
    assert len(planned) == 2  # the first was done, and isn't done again
    shown = slow.call("show", run)
    assert (shown["run"]["status"], shown["run"]["author"]) == ("done", "ada")
    assert any("resumed by bob" in note and "died" in note for note in shown["notes"])
    assert slow.call("locks", "staging")["locks"] == {}
    assert set(statuses(slow.deploy()).values()) == {"unchanged"}


def test_resume_waits_for_the_terraform_that_a_killed_run_left(slow):
    """It was interrupted, not killed, and has the component's lock until it has written down what it did."""
    slow.components["second"]["variables"]["command"] = f"touch {slow.begun}; sleep 3; true"
    run = killed_in_second(slow)
    returned = slow.call("resume", run)
    assert returned["retcode"] == 0, returned
    assert set(statuses(slow.deploy()).values()) == {"unchanged"}


def test_a_failed_run_goes_on_with_its_own_configuration_and_says_that_pillar_differs(world, tmp_path):
    marker = tmp_path / "fixed"
    world.components = {
        "a": {"module": "base", "variables": {"name": "a"}},
        "bad": {"module": "shell", "variables": {"command": f"test -e {marker}"}, "needs": ["a"]},
    }
    run = world.deploy()["run"]
    world.components["a"]["variables"]["name"] = "changed since"
    world.module("shell", "# gone\n")
    marker.touch()
    returned = world.call("resume", run)
    assert returned["retcode"] == 0, returned
    assert statuses(returned) == {"a": "applied", "bad": "applied"}
    notes = "\n".join(returned["notes"])
    assert "pillar differs by now" in notes
    assert "modules differ by now: shell" in notes


def test_the_options_of_the_run_hold_for_its_continuation(world, tmp_path):
    marker = tmp_path / "fixed"
    world.components = {
        "bad": {"module": "shell", "variables": {"command": f"test -e {marker}"}},
        "other": {"module": "base", "variables": {"name": "o"}},
    }
    run = world.deploy(components="bad")["run"]
    marker.touch()
    assert statuses(world.call("resume", run)) == {"bad": "applied"}


def test_a_dead_destroy_goes_on(slow):
    slow.module(
        "shell",
        'variable "command" {}\nresource "terraform_data" "this" {\n  input = var.command\n'
        '  provisioner "local-exec" {\n    when = destroy\n    command = self.input\n  }\n}\n',
    )
    assert slow.deploy()["retcode"] == 0
    process = start(slow, "destroy", {"yes": True})
    wait_for(slow.begun.exists, "the second component")
    process.kill()
    process.communicate()
    slow.gate.touch()
    returned = slow.call("resume", None)
    assert (returned["verb"], returned["retcode"]) == ("destroy", 0), returned
    assert set(statuses(returned).values()) == {"destroyed"}
    assert slow.call("status", "staging")["summary"] == "staging: 3 never applied"


def test_a_rollback_that_failed_is_resumed_and_the_run_it_undoes_is_not(world, tmp_path):
    marker = tmp_path / "may go"
    world.module(
        "clingy",
        'variable "gate" {}\nvariable "fails" {}\n'
        'resource "terraform_data" "this" {\n  input = var.gate\n'
        '  provisioner "local-exec" {\n    when = destroy\n    command = "test -e \'${self.input}\'"\n  }\n}\n'
        'resource "terraform_data" "bad" {\n  depends_on = [terraform_data.this]\n'
        '  provisioner "local-exec" { command = var.fails }\n}\n',
    )
    variables = {"gate": str(marker), "fails": "exit 3"}
    world.components = {
        "a": {"module": "base", "variables": {"name": "a"}},
        "b": {"module": "clingy", "variables": variables, "needs": ["a"]},
    }
    returned = world.deploy(on_error="rollback")
    undone = returned["rollback"]
    assert (undone["retcode"], statuses(undone)) == (1, {"b": "failed", "a": "skipped"})
    refused = world.call("resume", returned["run"])
    assert undone["run"] in refused["error"]["detail"]
    marker.touch()
    resumed = world.call("resume", None)
    assert (resumed["run"], resumed["verb"], resumed["retcode"]) == (undone["run"], "rollback", 0), resumed
    assert statuses(resumed) == {"b": "destroyed", "a": "destroyed"}
    assert world.call("status", "staging")["summary"] == "staging: 2 never applied"


def test_the_good_release_is_found_after_a_kill_in_the_middle_of_a_change(slow):
    """A rollback after a resume goes back to what was good before the run, not to what it was at when it died."""
    slow.gate.touch()
    assert slow.deploy()["retcode"] == 0
    slow.gate.unlink()
    slow.begun.unlink()
    slow.components["first"]["variables"]["name"] = "two"
    slow.components["second"]["variables"]["command"] += "; true"
    slow.module("shell", (slow.home / "modules/shell/main.tf").read_text().replace("input =", "triggers_replace ="))
    process = start(slow, "deploy", {"on_error": "rollback"})
    wait_for(slow.begun.exists, "the second component")
    process.kill()
    process.communicate()
    slow.components["third"]["variables"]["name"] = "never mind"
    slow.gate.touch()
    folder = Layout(slow.state_dir).run(last_run(slow).id)
    tree = json.loads((folder / "configuration.json").read_text())
    tree["pillar"]["environments"]["staging"]["components"]["third"]["variables"]["secret"] = ["not a text"]
    (folder / "configuration.json").write_text(json.dumps(tree))
    returned = slow.call("resume", None)
    assert statuses(returned)["third"] == "failed"
    assert statuses(returned["rollback"]) == {"second": "rolled back", "first": "rolled back"}, returned
    assert slow.call("outputs", "staging", "first")["outputs"]["first"]["name"] == "one"


def test_what_cannot_be_resumed_says_why(world):
    world.components = {"a": {"module": "base", "variables": {"name": "a"}}}
    assert world.call("resume", None)["error"]["type"] == "UnknownName"
    done = world.deploy()["run"]
    assert "it is done" in world.call("resume", done)["error"]["detail"]
    world.components["bad"] = {"module": "shell", "variables": {"command": "exit 1"}}
    failed = world.deploy()["run"]
    later = world.deploy()["run"]
    assert later in world.call("resume", failed)["error"]["detail"]


def test_an_abandoned_run_is_put_away_on_record(slow):
    run = killed_in_second(slow)
    slow.author = "bob"
    returned = slow.call("abandon", run)
    assert (returned["retcode"], returned["run"]["status"]) == (0, "abandoned")
    assert any("abandoned by bob" in note for note in returned["run"]["notes"])
    assert not any(run in note for note in slow.call("status", "staging")["notes"])
    assert "it is abandoned" in slow.call("resume", run)["error"]["detail"]
    assert not (Layout(slow.state_dir).run(run) / "configuration.json").exists()


def test_a_living_run_is_neither_resumed_nor_abandoned(slow):
    process = start(slow, "deploy")
    wait_for(slow.begun.exists, "the second component")
    run = last_run(slow).id
    assert slow.call("resume", run)["retcode"] == 75
    assert slow.call("abandon", run)["retcode"] == 75
    held = slow.call("locks", "staging")["locks"]
    assert list(held) == ["second"]
    assert (held["second"]["run"], held["second"]["author"], held["second"]["process"]) == (run, "ada", process.pid)
    refused = slow.call("unlock", "staging", "second", "impatience")
    assert refused["retcode"] == 75
    assert f"infrastructure.cancel {run}" in refused["steps"]["second"]["error"]["fix"]
    slow.gate.touch()
    assert json.loads(process.communicate()[0])["retcode"] == 0


def test_the_snapshot_is_private_and_gone_when_it_is_not_needed_any_more(world):
    world.components = {"bad": {"module": "shell", "variables": {"command": "exit 1"}}}
    failed = Layout(world.state_dir).run(world.deploy()["run"]) / "configuration.json"
    assert failed.stat().st_mode & 0o777 == 0o600
    world.components["bad"]["variables"]["command"] = "true"
    assert not (Layout(world.state_dir).run(world.deploy()["run"]) / "configuration.json").exists()


def test_how_to_log_in_to_vault_is_not_kept(world, tmp_path):
    marker = tmp_path / "fixed"
    auth = {"token": "s.a-token-that-stands-in-pillar"}
    world.infrastructure["vault"] = {"address": "https://127.0.0.1:1", "auth": auth}
    world.components = {"bad": {"module": "shell", "variables": {"command": f"test -e {marker}"}}}
    run = world.deploy()["run"]
    files = [path for path in world.state_dir.rglob("*") if path.is_file()]
    assert not [path for path in files if b"a-token-that-stands" in path.read_bytes()]
    marker.touch()
    returned = world.call("resume", run)
    assert returned["retcode"] == 0, returned
    assert not any("differs" in note for note in returned["notes"])


def test_a_run_is_cancelled_from_another_process(slow):
    only_once = f"test -e {slow.begun} || {{ touch {slow.begun}; sleep 60; }}"
    slow.components["second"]["variables"]["command"] = only_once
    process = start(slow, "deploy")
    wait_for(slow.begun.exists, "the second component")
    run = last_run(slow).id
    slow.author = "bob"
    answer = slow.call("cancel", run, None)
    assert (answer["retcode"], answer["ended"]) == (0, True), answer
    returned = json.loads(process.communicate()[0])
    assert returned["retcode"] == 130
    assert statuses(returned)["third"] in ("cancelled", "skipped")
    assert any("cancelled by bob" in note for note in returned["notes"])
    slow.components["second"]["variables"]["command"] = "true"
    assert slow.call("resume", run)["retcode"] == 0
    assert "it is done" in slow.call("cancel", run, None)["error"]["detail"]


def test_the_log_of_a_step_can_be_read(world):
    world.components = {"bad": {"module": "shell", "variables": {"command": "echo it is broken; exit 1"}}}
    run = world.deploy()["run"]
    shown = world.call("log", run, "bad")
    assert "it is broken" in shown["text"]
    assert shown["path"].endswith("logs/bad.log")
    assert world.call("log", run, "bat")["error"]["type"] == "UnknownName"


def test_unlock_wants_a_reason_and_is_on_record(world):
    world.components = {"a": {"module": "base", "variables": {"name": "a"}}}
    world.deploy()
    assert "reason" in world.call("unlock", "staging", "a", None)["error"]["summary"]
    returned = world.call("unlock", "staging", "a", "the machine was reset")
    shown = world.call("show", returned["run"])["run"]
    assert (shown["verb"], shown["options"]["reason"]) == ("unlock", "the machine was reset")
    assert returned["steps"]["a"]["reason"] == "nobody held it"


def test_the_state_before_each_apply_is_kept_ten_of_them(world):
    world.components = {"a": {"module": "base", "variables": {"name": "v0"}}}
    folder = Layout(world.state_dir).states("staging", "a") / "versions"
    for number in range(13):
        world.components["a"]["variables"]["name"] = f"v{number}"
        assert world.deploy()["retcode"] == 0
    kept = sorted(folder.iterdir())
    assert len(kept) == 10
    assert json.loads(kept[-1].read_text())["outputs"]["name"]["value"] == "v11"
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}


def test_a_signal_still_cancels_in_good_order(slow):
    slow.components["second"]["variables"]["command"] = f"touch {slow.begun}; sleep 60"
    process = start(slow, "deploy")
    wait_for(slow.begun.exists, "the second component")
    os.kill(process.pid, signal.SIGINT)
    assert json.loads(process.communicate()[0])["retcode"] == 130


def test_a_rollback_that_was_killed_goes_on(slow):
    """Killed while it destroys what the run had created: the rest goes, too."""
    waits = f"touch {slow.begun}; while ! test -e {slow.gate}; do sleep 0.1; done"
    slow.module(
        "lingering",
        'variable "command" {}\nresource "terraform_data" "this" {\n  input = var.command\n'
        '  provisioner "local-exec" {\n    when = destroy\n    command = self.input\n  }\n}\n',
    )
    slow.components = {
        "a": {"module": "base", "variables": {"name": "a"}},
        "b": {"module": "lingering", "variables": {"command": waits}, "needs": ["a"]},
        "c": {"module": "shell", "variables": {"command": "exit 3"}, "needs": ["b"]},
    }
    process = start(slow, "deploy", {"on_error": "rollback"})
    wait_for(slow.begun.exists, "the rollback of b")
    process.kill()
    process.communicate()
    slow.gate.touch()
    returned = slow.call("resume", None)
    assert (returned["verb"], returned["retcode"]) == ("rollback", 0), returned
    assert statuses(returned) == {"c": "destroyed", "b": "destroyed", "a": "destroyed"}
    assert slow.call("status", "staging")["summary"] == "staging: 3 never applied"
