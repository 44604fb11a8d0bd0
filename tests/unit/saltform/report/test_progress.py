from __future__ import annotations

import io
import os
import pty
import select
import subprocess
import sys
import threading
import time

import pytest

from saltform.report import progress as progress_module
from saltform.report.progress import Progress
from saltform.status import Status


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def terminal(monkeypatch):
    """A real pseudo-terminal of 80 × 24: its stream, and a function that returns what was drawn on it."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    master, slave = pty.openpty()

    def drawn():
        data = b""
        while select.select([master], [], [], 0.1)[0]:
            data += os.read(master, 65536)
        return data.decode()

    with os.fdopen(slave, "w", encoding="utf-8") as stream:
        yield stream, drawn
    os.close(master)


def test_without_a_terminal_each_ended_step_is_one_plain_line(clock):
    out = io.StringIO()
    progress = Progress(out, clock)
    progress.start("deploy staging", ["networking", "consul"])
    progress.step("networking", Status.RUNNING, "planning")
    clock.now += 12.34
    progress.step("networking", Status.APPLIED, "+4")
    progress.step("consul", Status.SKIPPED)
    progress.finish()
    assert out.getvalue() == "12.3s networking applied +4\n12.3s consul skipped\n"


def test_a_hundred_unchanged_ones_print_nothing(clock):
    out = io.StringIO()
    progress = Progress(out, clock)
    progress.start("deploy staging", [f"c{number}" for number in range(100)])
    for number in range(100):
        progress.step(f"c{number}", Status.UNCHANGED)
    progress.finish()
    assert out.getvalue() == ""


def test_without_a_terminal_what_keeps_minions_from_converging_is_a_line_when_it_is_new(clock, monkeypatch):
    monkeypatch.setattr(progress_module, "STILL_RUNNING_AFTER", 30.0)
    out = io.StringIO()
    progress = Progress(out, clock)
    progress.step("consul", Status.RUNNING, "applying")
    for _ in range(3):  # as often as it is looked at
        progress.step("consul", Status.CONVERGING, "highstate on consul-1")
        progress.step("consul", Status.CONVERGING, "consul-1: state file.managed a failed: no such source")
        clock.now += 20
    progress._say_who_is_running()
    lines = [line.partition("s ")[2] for line in out.getvalue().splitlines()]
    assert lines == [
        "consul converging: highstate on consul-1",
        "consul converging: consul-1: state file.managed a failed: no such source",
        "running: consul (60.0 s, consul-1: state file.managed a failed: no such source)",
    ]


def test_a_status_told_twice_is_printed_once(clock):
    out = io.StringIO()
    progress = Progress(out, clock)
    progress.step("consul", Status.FAILED, "boom")
    progress.step("consul", Status.FAILED, "boom")
    assert out.getvalue().count("consul failed") == 1


def test_a_silence_is_broken_by_who_is_running_soon_when_it_is_news_and_late_when_it_is_not(clock):
    out = io.StringIO()
    progress = Progress(out, clock)
    names = [f"c{number}" for number in range(7)]
    progress.start("deploy staging", names)
    for name in names:
        progress.step(name, Status.RUNNING)

    def until(text):
        deadline = time.monotonic() + 60
        while text not in out.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)

    clock.now += 2
    until("\n")
    clock.now += 30
    until("still")
    progress.step("c0", Status.UNCHANGED)
    clock.now += 2
    until("34.0s")
    progress.finish()
    assert out.getvalue().splitlines() == [
        "2.0s running: c0 (2.0 s), c1 (2.0 s), c2 (2.0 s), c3 (2.0 s), c4 (2.0 s) and 2 more",
        "32.0s still running: c0 (32.0 s), c1 (32.0 s), c2 (32.0 s), c3 (32.0 s), c4 (32.0 s) and 2 more",
        "34.0s running: c1 (34.0 s), c2 (34.0 s), c3 (34.0 s), c4 (34.0 s), c5 (34.0 s) and 1 more",
    ]


def test_terminal_escapes_in_a_note_are_not_passed_on(clock):
    out = io.StringIO()
    Progress(out, clock).step("consul", Status.FAILED, "\x1b[2Jgone\x07")
    assert out.getvalue().endswith("consul failed gone\n")


def test_a_closed_stderr_does_not_break_the_run(clock):
    out = io.StringIO()
    progress = Progress(out, clock)
    progress.start("deploy staging", ["a"])
    out.close()
    progress.step("a", Status.APPLIED)
    progress.finish()


def test_a_stream_that_knows_only_ascii_gets_what_it_can_print(clock):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Progress(stream, clock).step("a", Status.FAILED, "größe → 3")
    assert raw.getvalue().endswith(b"a failed gr??e ? 3\n")


def test_lines_of_ten_threads_do_not_mix():
    out = io.StringIO()
    progress = Progress(out)
    progress.start("deploy", [])
    threads = [
        threading.Thread(target=lambda n=n: [progress.step(f"c{n}-{i}", Status.APPLIED, "+1") for i in range(50)])
        for n in range(10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    progress.finish()
    lines = out.getvalue().splitlines()
    assert len(lines) == 500
    assert all(line.split()[2:] == ["applied", "+1"] for line in lines)


def test_on_a_terminal_a_short_run_draws_nothing(terminal):
    stream, drawn = terminal
    progress = Progress(stream)
    progress.start("deploy staging", ["a"])
    progress.step("a", Status.UNCHANGED)
    progress.finish()
    assert drawn() == ""


def test_on_a_terminal_a_longer_run_shows_who_works_and_leaves_the_failure(terminal, monkeypatch):
    monkeypatch.setattr(progress_module, "LIVE_AFTER", 0.0)
    stream, drawn = terminal
    progress = Progress(stream)
    progress.start("deploy staging", ["networking", "consul"])
    progress.step("networking", Status.RUNNING, "applying +4")
    seen = ""
    deadline = time.monotonic() + 60
    while "applying +4" not in seen and time.monotonic() < deadline:
        seen += drawn()
    progress.step("networking", Status.FAILED, "boom")
    progress.finish()
    seen += drawn()
    assert "deploy staging" in seen
    assert "0 of 2 done · 1 pending, 1 running" in seen
    assert "networking failed" in seen
    assert "\x1b[?25h" in seen, "the cursor is visible again"


def test_a_dumb_terminal_gets_lines(terminal, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    stream, drawn = terminal
    Progress(stream).step("a", Status.APPLIED, "+1")
    assert "a applied +1" in drawn()


def test_nothing_heavy_is_imported_by_progress():
    code = "import sys, saltform.report.progress, saltform.events; print({'rich', 'jinja2'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
