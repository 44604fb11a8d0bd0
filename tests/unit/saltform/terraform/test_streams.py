"""What plan and apply make of the lines that terraform prints, and of the ways it ends."""

from __future__ import annotations

import dataclasses
import errno
import json
import threading

import pytest

from saltform.config.types import Timeouts
from saltform.credentials.masking import MASK, Masker
from saltform.errors import Cancelled, StalePlan, TerraformError, Timeout, WorkspaceError
from saltform.process import Result
from saltform.process.scripted import Answer, ScriptedProcesses
from saltform.terraform import apply, planning
from saltform.terraform.binary import Binary
from saltform.terraform.session import Session, run_text


def line(kind, message="…", **more):
    return json.dumps({"@level": "info", "@message": message, "type": kind, **more})


def change(address, action, kind="planned_change", **more):
    resource = {"addr": address, "resource_type": address.split(".")[-2]}
    return line(kind, change={"resource": resource, "action": action, **more})


def problem(summary, detail=""):
    diagnostic = {"severity": "error", "summary": summary, "detail": detail}
    return line("diagnostic", f"Error: {summary}", diagnostic=diagnostic)


def summary(add=0, change=0, remove=0):
    return line("change_summary", changes={"add": add, "change": change, "remove": remove, "operation": "plan"})


class Bench:
    """A session whose processes answer from a script, and its log."""

    def __init__(self, folder, answer, mask=str, find_lines=None):
        self.log = []
        self.cancel = threading.Event()
        self.processes = ScriptedProcesses(lambda call: answer)
        self.session = Session(
            Binary(("tf",), "terraform", "1.11.4"),
            folder,
            {},
            self.processes,
            self.log.append,
            self.cancel,
            "staging/net",
            Timeouts(1, 2, 3),
            mask,
            find_lines=find_lines,
        )


def plan(tmp_path, lines, exit_code=0, mask=str, **answer):
    bench = Bench(tmp_path, Answer(lines, exit_code, {"plan": ""}, **answer), mask)
    return planning.run(bench.session, tmp_path / "plan"), bench


def applied(tmp_path, lines, exit_code=0, **answer):
    bench = Bench(tmp_path, Answer(lines, exit_code, **answer))
    return apply.run(bench.session, tmp_path / "plan"), bench


def test_a_plan_with_changes(tmp_path):
    found, _ = plan(
        tmp_path,
        [
            change("a.b", "update", "resource_drift"),
            change("aws_vpc.x", "replace", reason="cannot_update"),
            change("module.m.aws_vpc.y", "move", previous_resource={"addr": "aws_vpc.old"}),
            summary(add=1, remove=1),
            line(
                "outputs",
                outputs={"id": {"action": "create", "sensitive": True}, "old": {"sensitive": False}},
            ),
        ],
        exit_code=2,
    )
    assert found.changed
    assert found.changes == [
        {"address": "aws_vpc.x", "action": "replace", "resource_type": "aws_vpc", "reason": "cannot_update"},
        {
            "address": "module.m.aws_vpc.y",
            "action": "move",
            "resource_type": "aws_vpc",
            "moved_from": "aws_vpc.old",
        },
    ]
    assert found.drift == [{"address": "a.b", "action": "update", "resource_type": "a"}]
    assert found.counts == {"add": 1, "change": 0, "remove": 1, "import": 0}
    assert found.outputs == {
        "id": {"action": "create", "sensitive": True},
        "old": {"action": "noop", "sensitive": False},
    }


def test_a_plan_without_changes(tmp_path):
    found, bench = plan(tmp_path, [summary()])
    assert (found.changed, found.changes) == (False, [])
    assert bench.processes.calls[0].timeout == 2


def test_a_plan_that_left_no_file_is_not_believed(tmp_path):
    bench = Bench(tmp_path, Answer([summary()]))
    with pytest.raises(TerraformError, match="left no plan file"):
        planning.run(bench.session, tmp_path / "plan")


def test_exit_code_2_without_a_summary_is_a_crash_and_not_changes(tmp_path):
    with pytest.raises(TerraformError, match="panic: runtime error"):
        plan(tmp_path, [], exit_code=2, errors=["panic: runtime error", "goroutine 1"])


def test_success_without_a_word_is_not_believed(tmp_path):
    with pytest.raises(TerraformError, match="it printed no message"):
        plan(tmp_path, [])


@pytest.mark.parametrize("garbage", ["{", "{}", "[1]", "{not json}", "null", '{"type": "planned_change"}'])
def test_lines_that_are_no_events_are_only_logged(tmp_path, garbage):
    found, bench = plan(tmp_path, [garbage, summary()])
    assert found.changes == []
    assert garbage in bench.log


def test_the_log_reads_like_text(tmp_path):
    _, bench = plan(tmp_path, [line("log", "Reading…"), problem("Odd", "very"), summary()])
    assert bench.log[:2] == ["Reading…", "error: Odd: very"]


def test_secrets_are_masked_everywhere_even_as_json_spells_them(tmp_path):
    secret = 'p"<&>é'
    lines = [problem("Denied", f"token {secret} refused"), f"crashed with {secret}"]

    bench = Bench(tmp_path, Answer(lines, 1), Masker([secret]).line)
    with pytest.raises(TerraformError) as caught:
        planning.run(bench.session, tmp_path / "plan")
    assert f"token {MASK} refused" in str(caught.value)
    assert secret not in str(caught.value.as_dict()) + str(caught.value.diagnostics) + "".join(bench.log)


def test_only_the_lines_in_which_something_was_found_are_searched_one_by_one(tmp_path):
    masker = Masker(["hunter2hunter2"])
    searched = []

    def mask(text):
        searched.append(text)
        return masker.line(text)

    lines = [line("log", "one"), line("log", "two hunter2hunter2"), line("log", "hunter2\x1b[0mhunter2"), summary()]
    bench = Bench(tmp_path, Answer(lines), mask, masker.find_lines)
    apply.run(bench.session, tmp_path / "plan")
    assert bench.log[:3] == ["one", f"two {MASK}", MASK]
    assert lines[1] in searched and lines[0] not in searched


def test_events_are_handed_on(tmp_path):
    kinds = []
    bench = Bench(tmp_path, Answer([line("apply_start"), summary()]))
    apply.run(bench.session, tmp_path / "plan", on_event=lambda event: kinds.append(event["type"]))
    assert kinds == ["apply_start", "change_summary"]


def test_an_apply_says_what_it_did(tmp_path):
    done = {"resource": {"addr": "a.b"}}
    found, bench = applied(
        tmp_path,
        [line("apply_complete", hook=done), summary(add=1), line("outputs", outputs={"z": {}, "a": {}})],
    )
    assert (found.applied, found.counts["add"], found.outputs) == (["a.b"], 1, ["a", "z"])
    assert bench.processes.calls[0].timeout == 3


def test_a_failed_apply_says_what_was_done_before(tmp_path):
    done = {"resource": {"addr": "a.b"}}
    with pytest.raises(TerraformError, match="Quota exceeded") as caught:
        applied(tmp_path, [line("apply_complete", hook=done), problem("Quota exceeded")], exit_code=1)
    assert caught.value.data["applied"] == ["a.b"]


def test_a_stale_plan_is_told_apart(tmp_path):
    with pytest.raises(StalePlan):
        applied(tmp_path, [problem("Saved plan is stale")], exit_code=1)


def test_a_cancelled_run_starts_nothing(tmp_path):
    bench = Bench(tmp_path, Answer())
    bench.cancel.set()
    with pytest.raises(Cancelled, match="was not started"):
        apply.run(bench.session, tmp_path / "plan")
    assert bench.processes.calls == []


def test_a_cancelled_command_is_not_a_failure_of_terraform(tmp_path):
    with pytest.raises(Cancelled, match="apply for staging/net was cancelled.*wrote down"):
        applied(tmp_path, [problem("execution halted")], exit_code=1, interrupted="cancelled")


def test_a_time_out_says_how_long_and_what_to_do(tmp_path):
    with pytest.raises(Timeout, match="took longer than 3 s") as caught:
        applied(tmp_path, [], exit_code=1, interrupted="timeout")
    assert "timeouts:" in caught.value.fix


@pytest.mark.parametrize(
    ("command", "deletes", "seconds", "named"),
    [
        ("version", False, 4, "quick"),
        ("state", False, 4, "quick"),
        ("init", False, 1, "init"),
        ("plan", True, 2, "plan"),
        ("apply", False, 3, "apply"),
        ("import", False, 3, "apply"),
        ("apply", True, 5, "extended"),
    ],
)
def test_every_command_has_its_tier(tmp_path, command, deletes, seconds, named):
    bench = Bench(tmp_path, Answer(interrupted="timeout", exit_code=1))
    session = dataclasses.replace(bench.session, timeouts=Timeouts(1, 2, 3, 4, 5), deletes=deletes)
    with pytest.raises(Timeout) as caught:
        run_text(session, [command])
    assert bench.processes.calls[0].timeout == seconds
    assert f"`timeouts: {{{named}: …}}`" in caught.value.fix


def test_an_apply_never_has_less_time_because_it_deletes(tmp_path):
    bench = Bench(tmp_path, Answer())
    run_text(dataclasses.replace(bench.session, timeouts=Timeouts(1, 2, 9, 4, 5), deletes=True), ["apply"])
    assert bench.processes.calls[0].timeout == 9


def test_a_command_that_had_to_be_killed_says_what_may_be_lost(tmp_path):
    bench = Bench(tmp_path, Answer())
    bench.processes.run = lambda *_, **__: Result(-9, 4.0, "timeout", killed=True)
    with pytest.raises(Timeout, match="was killed: what it was creating may be missing"):
        apply.run(bench.session, tmp_path / "plan")


@pytest.mark.parametrize("killed", [True, False])
def test_a_plan_that_was_stopped_has_created_nothing_and_says_so(tmp_path, killed):
    bench = Bench(tmp_path, Answer())
    bench.processes.run = lambda *_, **__: Result(-9, 4.0, "cancelled", killed=killed)
    with pytest.raises(Cancelled, match="had created nothing") as caught:
        planning.run(bench.session, tmp_path / "plan")
    assert "may be missing" not in caught.value.detail
    assert "wrote down" not in caught.value.detail
    assert ("state lock may be left" in caught.value.detail) is killed


def test_what_ended_well_in_spite_of_an_interrupt_is_done(tmp_path):
    found, _ = applied(tmp_path, [summary(add=1)], interrupted="cancelled")
    assert found.counts["add"] == 1


def test_a_log_that_can_not_be_written_is_said_without_a_traceback(tmp_path):
    bench = Bench(tmp_path, Answer([summary()]))

    def full(line):
        raise OSError(errno.ENOSPC, "No space left on device", "/log")

    with pytest.raises(WorkspaceError, match="/log: the disk is full"):
        apply.run(dataclasses.replace(bench.session, log=full), tmp_path / "plan")
