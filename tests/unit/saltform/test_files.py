"""Whole files or none, and errors that a person can act on."""

from __future__ import annotations

import errno
import os
import stat

import pytest

from saltform.errors import WorkspaceError
from saltform.files import make_folder, write_atomic


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
