"""Terraform's own lock on a state, as it describes it in an error and in the local backend's note."""

from __future__ import annotations

import pytest

from saltform.errors import SaltformError
from saltform.terraform.state_lock import StateLock, held_id, in_the_way, read_note

DETAIL = """Error acquiring the state lock: Error message: state already locked

Lock Info:
  ID:        9db590f1-b6fe-c5f2-2678-8804f089deba
  Path:      state/terraform.tfstate
  Operation: OperationTypeApply
  Who:       root@master-1
  Version:   1.11.4
  Created:   2026-11-16 10:40:00.12 +0000 UTC
  Info:

Terraform acquires a state lock to protect the state from being written"""
LOCK = StateLock(
    "9db590f1-b6fe-c5f2-2678-8804f089deba", "root@master-1", "2026-11-16T10:40:00.120Z", "OperationTypeApply"
)


def test_an_error_says_whose_lock_it_is_and_since_when():
    found = in_the_way(SaltformError("terraform plan failed", DETAIL))
    assert found == LOCK
    assert found.host == "master-1"
    assert "root@master-1 since 2026-11-16T10:40:00.120Z" in str(found)


def test_a_lock_of_which_only_the_id_is_told_is_nobodys():
    detail = DETAIL.replace("state already locked", "HTTP remote state already locked: ID=1111-2222")
    assert in_the_way(SaltformError("terraform plan failed", detail)) == StateLock("1111-2222", "", "")


def test_another_error_is_about_no_lock():
    assert in_the_way(SaltformError("terraform plan failed", "ID: 7")) is None


def test_a_note_says_the_same_and_an_unreadable_one_is_nobodys(tmp_path):
    note = tmp_path / "note"
    assert read_note(note) is None
    note.write_text(
        '{"ID":"9db590f1-b6fe-c5f2-2678-8804f089deba","Operation":"OperationTypeApply","Info":"",'
        '"Who":"root@master-1","Version":"1.11.4","Created":"2026-11-16T10:40:00.120456789Z"}'
    )
    assert read_note(note) == LOCK
    note.write_text("{")
    assert read_note(note) == StateLock("", "", "")


@pytest.mark.parametrize(
    "message",
    [
        "Workspace is already locked: default",
        "Already locked for workspace creation: default",
        "HTTP remote state already locked, failed to unmarshal body",
        "HTTP remote state already locked: ID=",
    ],
)
def test_a_lock_info_that_is_the_askers_own_names_no_holder(message):
    detail = f"Error message: {message}\nLock Info:\n  ID:        of-the-asker\n  Path:      \n  Who:       me@here\n"
    assert held_id(detail) == ""
    assert in_the_way(SaltformError("terraform plan failed", detail)) is None


def test_an_empty_line_of_a_lock_info_is_empty():
    assert held_id("Lock Info:\n  ID:        \n  Path:      x\n") == ""
