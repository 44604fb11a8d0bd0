"""The embedded Terraform behaves like the program it stands for."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from saltform.process import RealProcesses
from saltform.terraform import apply, binary, init, planning

OPEN = ("2", "257", "56")  # the numbers of open and openat on amd64 and arm64


@pytest.fixture
def embedded(cache):
    return binary.find("embedded", cache_dir=cache, processes=RealProcesses())


def test_what_it_starts_inherits_no_ignored_signal(make_session, embedded):
    """Python ignores SIGPIPE; a provisioner's `yes | head` would then never end."""
    command = "grep SigIgn /proc/self/status > ignored; yes | head -n 1"
    root = {"resource": {"terraform_data": {"a": {"provisioner": [{"local-exec": {"command": command}}]}}}}
    session = make_session(embedded, root)
    init.run(session)
    planning.run(session, session.workspace / "plan")
    apply.run(session, session.workspace / "plan")
    # What the test run itself was started with (nohup, a supervisor) is not the launcher's to undo.
    inherited = _ignored(Path("/proc/self/status").read_text()) - {signal.SIGPIPE, signal.SIGXFSZ}
    assert _ignored((session.workspace / "ignored").read_text()) <= inherited


def _ignored(status: str) -> set[int]:
    line = next(line for line in status.splitlines() if line.startswith("SigIgn:"))
    mask = int(line.split()[1], 16)
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}


@pytest.mark.parametrize(("arguments", "code"), [(["version"], 0), (["no-such-command"], 1), (["plan", "-x"], 1)])
def test_exit_codes_are_terraforms_own(embedded, tmp_path, arguments, code):
    ended = subprocess.run(
        [*embedded.path, *arguments], cwd=tmp_path, capture_output=True, env={"HOME": str(tmp_path)}
    )
    assert ended.returncode == code


def test_an_interrupt_before_terraform_listens_ends_it(embedded, tmp_path):
    """A library that takes forever to load stands for the moment in which Terraform isn't there yet."""
    fifo = tmp_path / "library.so"
    os.mkfifo(fifo)
    process = subprocess.Popen([*embedded.path[:-1], str(fifo), "apply"], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while not _is_opening(process.pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGINT


def _is_opening(pid: int) -> bool:
    """Blocked in the open of a pipe that nobody writes to."""
    return Path(f"/proc/{pid}/syscall").read_text().split()[0] in OPEN
