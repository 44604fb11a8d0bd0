"""Whole files or none, and errors that a person can act on."""

from __future__ import annotations

import errno
import os
import stat

import pytest

from saltform.errors import WorkspaceError
from saltform.files import alone, make_folder, move, move_folder, sync_folder, write_atomic
from tests.support.disk_calls import disk_calls


def test_a_file_is_private_and_replaced_as_a_whole(tmp_path):
    path = tmp_path / "deep" / "file"
    write_atomic(path, b"one")
    write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == ["file"]


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "disk is full"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permission denied"),
        (errno.EIO, "nput"),
    ],
)
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, number, said):
    path = tmp_path / "file"
    write_atomic(path, b"old")

    def fail(_descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(WorkspaceError, match=said) as caught:
        write_atomic(path, b"new")
    assert caught.value.fix
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_parents_that_are_made_on_the_way_are_private_too(tmp_path):
    make_folder(tmp_path / "state" / "states" / "staging")
    made = [tmp_path / "state", tmp_path / "state" / "states", tmp_path / "state" / "states" / "staging"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in made] == [0o700] * 3


def test_a_file_in_the_way_of_a_folder(tmp_path):
    (tmp_path / "x").write_text("")
    with pytest.raises(WorkspaceError, match="in the way"):
        make_folder(tmp_path / "x" / "y")


def test_a_durable_file_is_synced_before_it_has_its_name_and_its_folder_afterwards(tmp_path):
    path = tmp_path / "new" / "deep" / "file"
    with disk_calls() as calls:
        write_atomic(path, b"x")
    made, (written, named, folder) = calls[:-3], calls[-3:]
    assert made == [("sync", tmp_path), ("sync", tmp_path / "new")]
    assert written[0] == "sync" and written[1].parent == path.parent
    assert (named, folder) == (("name", path), ("sync", path.parent))


def test_what_can_be_made_again_is_not_synced(tmp_path):
    with disk_calls() as calls:
        write_atomic(tmp_path / "new" / "file", b"x", durable=False)
    assert calls.of("sync") == []


def test_what_is_moved_is_synced_at_both_ends(tmp_path):
    (tmp_path / "old").mkdir()
    with disk_calls() as calls:
        move(tmp_path / "old", tmp_path / "there" / "new")
    assert calls == [
        ("sync", tmp_path),
        ("name", tmp_path / "there" / "new"),
        ("sync", tmp_path / "there"),
        ("sync", tmp_path),
    ]


def test_an_empty_folder_is_not_kept(tmp_path):
    (tmp_path / "empty").mkdir()
    move_folder(tmp_path / "empty", tmp_path / "aside")
    move_folder(tmp_path / "never", tmp_path / "aside")
    assert os.listdir(tmp_path) == []


def test_a_folder_that_its_file_system_cant_sync_is_no_error(tmp_path, monkeypatch):
    def refuse(_descriptor):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "fsync", refuse)
    sync_folder(tmp_path)


def test_a_lock_that_cant_be_made_says_why(tmp_path):
    (tmp_path / "lock").mkdir()
    with pytest.raises(WorkspaceError, match="lock"), alone(tmp_path / "lock"):
        pass
