"""The twin in memory answers from its script and remembers what it was asked."""

from __future__ import annotations

import threading

import pytest

from saltform.process.scripted import Answer, Call, ScriptedProcesses


def run(processes, folder, *argv, **options):
    lines = []
    options = {"timeout": 1.0, **options}
    result = processes.run(
        argv, cwd=folder, env={"A": "b"}, on_line=lambda stream, line: lines.append((stream, line)), **options
    )
    return result, lines


def test_the_first_entry_whose_word_is_an_argument_answers(tmp_path):
    processes = ScriptedProcesses([("plan", Answer(["p"], 2)), ("apply", Answer(["a"], errors=["e"]))])
    assert run(processes, tmp_path, "tf", "apply", "plan.out")[1] == [("stdout", "a"), ("stderr", "e")]
    assert run(processes, tmp_path, "tf", "plan")[0].exit_code == 2


def test_calls_are_remembered(tmp_path):
    processes = ScriptedProcesses([("x", Answer())])
    run(processes, tmp_path, "x", name="staging/net init")
    assert processes.calls == [Call(("x",), tmp_path, {"A": "b"}, 1.0, "staging/net init")]


def test_files_are_written_below_the_folder(tmp_path):
    run(ScriptedProcesses([("x", Answer(files={"a/b": "text"}))]), tmp_path, "x")
    assert (tmp_path / "a/b").read_text() == "text"


def test_a_function_can_answer(tmp_path):
    processes = ScriptedProcesses(lambda call: Answer(exit_code=len(call.argv)))
    assert run(processes, tmp_path, "a", "b", "c")[0].exit_code == 3


def test_a_hanging_process_ends_by_cancel_or_time_out(tmp_path):
    processes = ScriptedProcesses([("x", Answer(exit_code=1, until_cancelled=True))])
    cancel = threading.Event()
    assert run(processes, tmp_path, "x", cancel=cancel, timeout=0.01)[0].interrupted == "timeout"
    cancel.set()
    assert run(processes, tmp_path, "x", cancel=cancel)[0].interrupted == "cancelled"


def test_what_is_not_in_the_script_is_a_failure_of_the_test(tmp_path):
    with pytest.raises(AssertionError, match="tf destroy"):
        run(ScriptedProcesses([("plan", Answer())]), tmp_path, "tf", "destroy")
