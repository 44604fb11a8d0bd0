"""Real processes: output, ends, interrupts and kills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from saltform.errors import BinaryError, WorkspaceError
from saltform.process import LOST_LOCK, Cancel, Lease, RealProcesses, Result

ENV = {"PATH": os.environ["PATH"]}
LONG = 120.0  # seconds: what a busy machine may need
A_WHILE = 3.0  # seconds in which a shell has set its trap, even there


class Recorded(list[tuple[str, str]]):
    """The lines of a run, in the order in which they were handed on."""

    def take(self, stream: str, line: str) -> None:
        self.append((stream, line))

    def of(self, stream: str) -> list[str]:
        return [line for name, line in self if name == stream]


@pytest.fixture
def lines() -> Recorded:
    return Recorded()


def run(script: str, folder: Path, lines: Recorded, **options: object) -> Result:
    options = {"timeout": LONG, "on_line": lines.take, **options}
    return RealProcesses().run(["sh", "-c", script], cwd=folder, env=ENV, **options)


def wait_until(true: object, seconds: float = LONG) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it didn't happen in time"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_both_streams_and_the_exit_code_are_handed_on(tmp_path, lines):
    result = run("echo out; echo err >&2; exit 3", tmp_path, lines)
    assert result.exit_code == 3
    assert result.interrupted == ""
    assert (lines.of("stdout"), lines.of("stderr")) == (["out"], ["err"])


def test_a_last_line_without_its_end_is_handed_on(tmp_path, lines):
    run("printf 'one\\ntwo'", tmp_path, lines)
    assert lines.of("stdout") == ["one", "two"]


def test_empty_lines_are_kept(tmp_path, lines):
    run("printf 'one\\n\\ntwo\\n'", tmp_path, lines)
    assert lines.of("stdout") == ["one", "", "two"]


def test_a_line_of_megabytes_arrives_whole(tmp_path, lines):
    run("head -c 5000000 /dev/zero | tr '\\0' a; echo; echo next", tmp_path, lines)
    assert [len(line) for line in lines.of("stdout")] == [5_000_000, 4]


def test_megabytes_on_both_streams_at_once_do_not_block(tmp_path, lines):
    script = "yes out | head -n 200000 & yes err | head -n 200000 >&2; wait"
    run(script, tmp_path, lines)
    assert (len(lines.of("stdout")), len(lines.of("stderr"))) == (200_000, 200_000)


def test_bytes_that_are_no_text_do_not_break_it(tmp_path, lines):
    run("printf 'a\\377b\\n'", tmp_path, lines)
    assert lines.of("stdout") == ["a\ufffdb"]


def test_a_character_cut_by_a_read_arrives_whole(tmp_path, lines):
    text = "x" + "€" * 100_000
    (tmp_path / "text").write_text(text, encoding="utf-8")
    run("cat text", tmp_path, lines)
    assert lines.of("stdout") == [text]


def test_lines_arrive_while_it_runs(tmp_path, lines):
    def on_line(stream: str, line: str) -> None:
        (tmp_path / "seen").touch()

    script = "echo now; while [ ! -e seen ]; do sleep 0.02; done"
    result = RealProcesses().run(["sh", "-c", script], cwd=tmp_path, env=ENV, timeout=LONG, on_line=on_line)
    assert result.exit_code == 0


def test_it_sees_only_the_environment_it_was_given(tmp_path, lines, monkeypatch):
    monkeypatch.setenv("PLANTED", "1")
    RealProcesses().run(["env"], cwd=tmp_path, env={**ENV, "A": "b"}, timeout=LONG, on_line=lines.take)
    assert sorted(line.partition("=")[0] for line in lines.of("stdout")) == ["A", "PATH"]


def test_what_it_writes_is_private(tmp_path, lines):
    run("echo secret > state", tmp_path, lines)
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o600


def test_it_reads_nothing_from_the_terminal(tmp_path, lines):
    assert run("read answer", tmp_path, lines).exit_code == 1


def test_a_process_left_behind_does_not_hold_up_the_end(tmp_path, lines):
    result = run("sleep 1000 & echo $!", tmp_path, lines)
    assert result.seconds < LONG
    os.kill(int(lines.of("stdout")[0]), signal.SIGKILL)


def test_a_time_out_is_one_interrupt_to_the_whole_group(tmp_path, lines):
    """Both count their interrupts for a while after the first: a second one would show."""
    program = textwrap.dedent("""
        import signal, subprocess, sys, time
        got = []
        signal.signal(signal.SIGINT, lambda *_: got.append(time.monotonic()))
        child = subprocess.Popen([sys.executable, sys.argv[0], "child"]) if len(sys.argv) == 1 else None
        while not got or time.monotonic() < got[0] + 0.4:
            time.sleep(0.02)
        if child:
            child.wait()
        print("child" if not child else "parent", len(got), flush=True)
        sys.exit(7)
    """)
    (tmp_path / "program.py").write_text(program)
    argv = [sys.executable, "program.py"]
    result = RealProcesses().run(argv, cwd=tmp_path, env=ENV, timeout=2 * A_WHILE, on_line=lines.take)
    assert (result.interrupted, result.exit_code, result.killed) == ("timeout", 7, False)
    assert lines.of("stdout") == ["child 1", "parent 1"]


def test_a_cancel_interrupts_and_says_so(tmp_path, lines):
    cancel = threading.Event()

    def on_line(stream: str, line: str) -> None:
        lines.take(stream, line)
        cancel.set()

    script = "trap 'echo bye; exit 5' INT; echo ready; while :; do sleep 0.05; done"
    result = run(script, tmp_path, lines, cancel=cancel, on_line=on_line)
    assert (result.interrupted, result.exit_code) == ("cancelled", 5)
    assert lines.of("stdout") == ["ready", "bye"]


def test_what_does_not_stop_within_the_grace_is_killed_with_its_children(tmp_path, lines):
    script = "trap '' INT; (sleep 60 & echo $!; wait) & wait; sleep 60"
    result = run(script, tmp_path, lines, timeout=A_WHILE, grace=0.3)
    assert (result.interrupted, result.exit_code, result.killed) == ("timeout", -signal.SIGKILL, True)
    child = int(lines.of("stdout")[0])
    wait_until(lambda: not alive(child))


def test_a_cancel_that_says_now_does_not_wait_for_the_whole_grace(tmp_path, lines, monkeypatch):
    monkeypatch.setattr("saltform.process.real.HURRY", 0.3)
    cancel = Cancel()

    def on_line(stream: str, line: str) -> None:
        cancel.set()
        threading.Timer(0.3, lambda: setattr(cancel, "now", True)).start()

    script = "trap '' INT; echo ready; while :; do sleep 0.05; done"
    result = run(script, tmp_path, lines, cancel=cancel, grace=1000.0, on_line=on_line)
    assert (result.interrupted, result.killed) == ("cancelled", True)
    assert 0.5 < result.seconds < LONG


def test_children_of_a_process_that_was_killed_by_others_are_ended(tmp_path, lines):
    result = run("sleep 60 & echo $!; kill -9 $$", tmp_path, lines)
    assert result.exit_code == -signal.SIGKILL
    child = int(lines.of("stdout")[0])
    wait_until(lambda: not alive(child))


def test_an_error_of_the_reader_is_raised_when_the_process_has_ended_by_itself(tmp_path):
    """A full disk under a log must not interrupt an apply."""
    seen = []

    def on_line(stream: str, line: str) -> None:
        seen.append(line)
        raise OSError(f"can't log {line}")

    script = "trap 'touch interrupted' INT; echo one; sleep 0.3; echo two; touch finished"
    with pytest.raises(OSError, match="can't log one"):
        RealProcesses().run(["sh", "-c", script], cwd=tmp_path, env=ENV, timeout=LONG, on_line=on_line)
    assert seen == ["one", "two"]
    assert (tmp_path / "finished").exists()
    assert not (tmp_path / "interrupted").exists()


def test_a_signal_that_became_an_exit_interrupts_the_process_and_waits_for_it(tmp_path):
    """Salt turns a signal into SystemExit in the main thread, wherever that is."""

    def on_line(stream: str, line: str) -> None:
        raise SystemExit(0)

    script = "trap 'touch interrupted; exit 0' INT; echo; while :; do sleep 0.05; done"
    with pytest.raises(SystemExit):
        RealProcesses().run(["sh", "-c", script], cwd=tmp_path, env=ENV, timeout=LONG, on_line=on_line)
    assert (tmp_path / "interrupted").exists()


@pytest.fixture
def runner(tmp_path):
    """A process of its own that runs a script and has seen its first line."""

    def start(script, grace=30.0, lease=1000.0, reconnected=False):
        program = textwrap.dedent(f"""
            import time
            from pathlib import Path
            from saltform.process import Lease, RealProcesses
            folder = Path({str(tmp_path)!r})
            lease = Lease(until=time.monotonic() + {lease}, orphan_grace=0.3)
            def on_line(*_):
                lease.session += {reconnected}
                (folder / "seen").touch()
            RealProcesses().run(["sh", "-c", {script!r}], cwd=folder, env={ENV!r},
                                timeout={LONG}, grace={grace}, lease=lease, on_line=on_line)
        """)
        process = subprocess.Popen([sys.executable, "-c", program], cwd=Path(__file__).parents[4])
        started.append(process)
        wait_until((tmp_path / "seen").exists)
        return process

    started: list[subprocess.Popen[bytes]] = []
    yield start
    for process in started:
        process.kill()
        process.wait()


def test_a_killed_runner_leaves_its_process_interrupted_once_and_able_to_write(runner, tmp_path):
    """`kill -9` of the runner must neither leave an apply alone nor end it by a broken pipe at its next line."""
    script = """
        trap 'echo INT >> signals; touch interrupted' INT
        echo started
        while [ ! -e interrupted ]; do sleep 0.02; done
        echo a line; sleep 1; echo another || exit 1
        touch finished
    """
    runner(script).kill()
    wait_until((tmp_path / "finished").exists)
    assert (tmp_path / "signals").read_text() == "INT\n"


def test_what_a_killed_runner_left_is_killed_after_its_grace(runner, tmp_path):
    runner("trap '' INT; echo $$ > pid; echo started; while :; do sleep 0.05; done", grace=0.3).kill()
    wait_until(lambda: not alive(int((tmp_path / "pid").read_text())))


COUNTED = """
    trap 'echo INT >> signals; touch interrupted' INT
    echo started
    while [ ! -e interrupted ]; do sleep 0.02; done
    sleep 0.8
    touch finished
"""


def test_a_process_whose_lease_ran_out_is_interrupted_once_and_that_is_said(tmp_path, lines):
    lease = Lease()

    def on_line(stream: str, line: str) -> None:
        lease.until = time.monotonic() + 0.1

    result = run(COUNTED, tmp_path, lines, lease=lease, on_line=on_line)
    assert (result.interrupted, result.killed) == (LOST_LOCK, False)
    assert (tmp_path / "signals").read_text() == "INT\n"


def test_a_lease_that_is_renewed_lets_its_process_run(tmp_path, lines):
    lease = Lease(until=time.monotonic() + A_WHILE)
    ended = threading.Event()

    def renew():
        while not ended.wait(0.2):
            lease.until = time.monotonic() + A_WHILE

    thread = threading.Thread(target=renew)
    thread.start()
    result = run(f"sleep {A_WHILE + 1}; echo done", tmp_path, lines, lease=lease)
    ended.set()
    thread.join()
    assert (result.interrupted, lines.of("stdout")) == ("", ["done"])


def test_a_process_of_a_stopped_runner_is_interrupted_when_its_lease_runs_out(runner, tmp_path):
    """Only the guard can do it then; and the runner sends no second interrupt when it goes on."""
    process = runner(COUNTED, lease=2 * A_WHILE)
    process.send_signal(signal.SIGSTOP)
    try:
        wait_until((tmp_path / "interrupted").exists)
    finally:
        process.send_signal(signal.SIGCONT)
    wait_until((tmp_path / "finished").exists)
    assert (tmp_path / "signals").read_text() == "INT\n"


def test_a_runner_that_is_killed_after_its_interrupt_does_not_cause_a_second_one(runner, tmp_path):
    """A cancel, then kill -9: the guard knows that the group has had its SIGINT."""
    process = runner(COUNTED, lease=A_WHILE)
    wait_until((tmp_path / "interrupted").exists)
    process.kill()
    wait_until((tmp_path / "finished").exists)
    assert (tmp_path / "signals").read_text() == "INT\n"


def test_what_outlives_a_killed_runner_without_a_lock_of_its_own_is_killed_soon(runner, tmp_path):
    """Its lock's connection is another one than it has inherited: nothing keeps its component's lock."""
    script = "trap '' INT; echo $$ > pid; echo started; while :; do sleep 0.05; done"
    process = runner(script, grace=300.0, lease=300.0, reconnected=True)
    time.sleep(1)  # until its guard knows, at its next look
    process.kill()
    wait_until(lambda: not alive(int((tmp_path / "pid").read_text())))


def test_a_runner_that_ends_well_leaves_no_guard(runner, tmp_path):
    process = runner("ps -o pid= --ppid $PPID > pids; echo started")
    guards = [int(word) for word in (tmp_path / "pids").read_text().split()]
    assert process.wait() == 0
    assert len(guards) == 2, "the guard and the shell itself"
    wait_until(lambda: not any(map(alive, guards)))


def guards() -> list[int]:
    """Our own children that are guards."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in children if b"guard_program.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_a_guard_holds_nothing_of_its_starter_open(tmp_path, lines):
    run("true", tmp_path, lines)
    (guard,) = guards()
    wait_until(lambda: sorted(os.listdir(f"/proc/{guard}/fd")) == ["0", "1", "2"])


def test_a_guard_that_was_ended_is_replaced(tmp_path, lines):
    run("true", tmp_path, lines)
    (guard,) = guards()
    os.kill(guard, signal.SIGKILL)
    os.waitpid(guard, 0)
    run("true", tmp_path, lines)
    assert len(guards()) == 1


def test_without_a_guard_processes_run_all_the_same(tmp_path, lines, monkeypatch):
    run("true", tmp_path, lines)
    (guard,) = guards()
    os.kill(guard, signal.SIGKILL)
    os.waitpid(guard, 0)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert run("echo fine", tmp_path, lines).exit_code == 0
    assert guards() == []


def test_a_forked_child_has_a_guard_of_its_own(tmp_path, lines):
    """Salt forks: the end of the child must not be taken for the end of its parent, nor the other way round."""
    run("true", tmp_path, lines)
    child = os.fork()
    if child == 0:
        run("true", tmp_path, lines)
        (tmp_path / "guards").write_text(str(len(guards())))
        os._exit(0)
    os.waitpid(child, 0)
    assert (tmp_path / "guards").read_text() == "1"
    assert len(guards()) == 1


def test_a_program_that_is_not_there_is_a_clear_error(tmp_path):
    with pytest.raises(BinaryError, match="can't be started: No such file"):
        RealProcesses().run(["/nowhere/tf"], cwd=tmp_path, env=ENV, timeout=5, on_line=print)


def test_a_program_that_may_not_be_run_is_a_clear_error(tmp_path):
    (tmp_path / "tf").write_text("#!/bin/sh\n")
    with pytest.raises(BinaryError, match="Permission denied"):
        RealProcesses().run([str(tmp_path / "tf")], cwd=tmp_path, env=ENV, timeout=5, on_line=print)


def test_a_folder_that_is_gone_is_a_clear_error(tmp_path):
    with pytest.raises(WorkspaceError, match="workspace is not a folder"):
        RealProcesses().run(["true"], cwd=tmp_path / "gone", env=ENV, timeout=5, on_line=print)


def test_a_file_descriptor_is_inherited_only_when_asked_for(tmp_path, lines):
    with (tmp_path / "lock").open("w") as lock:
        run(f"echo held > /dev/fd/{lock.fileno()}", tmp_path, lines, pass_fds=[lock.fileno()])
        assert (tmp_path / "lock").read_text() == "held\n"
        assert run(f"echo x > /dev/fd/{lock.fileno()}", tmp_path, lines).exit_code != 0


def test_no_descriptor_is_left_open(tmp_path, lines):
    run("true", tmp_path, lines)  # the first one starts the guard, which stays
    before = set(os.listdir("/proc/self/fd"))
    run("echo x", tmp_path, lines)
    assert set(os.listdir("/proc/self/fd")) == before
