"""States in local files: the contract of all readers, and what only files have."""

from __future__ import annotations

import os
import stat

import pytest

from saltform.errors import StateError
from saltform.tfstate import Head
from saltform.tfstate.local import LocalStates
from saltform.tfstate.versions import keep_version
from tests.support.states_contract import StatesContract, state


class LocalBench:
    """How the contract suite stores a state where the reader finds it."""

    def __init__(self, tmp_path):
        self.reader = LocalStates(tmp_path)

    def store(self, environment, component, content):
        self.reader.prepare(environment, component).write_bytes(content)


@pytest.fixture
def bench(tmp_path):
    return LocalBench(tmp_path)


class TestLocalStates(StatesContract):
    """The contract."""


# --- what only files have ---


@pytest.fixture
def local(tmp_path):
    return LocalBench(tmp_path)


def test_the_folder_is_private(local):
    path = local.reader.prepare("staging", "net")
    assert path.parts[-4:] == ("states", "staging", "net", "terraform.tfstate")
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_an_empty_file_is_no_state_as_it_is_for_terraform(local):
    local.store("staging", "net", b"")
    assert local.reader.head("staging", "net") is None


def test_an_empty_file_beside_a_backup_is_a_lost_state(local):
    local.store("staging", "net", b"")
    local.reader.path("staging", "net").with_name("terraform.tfstate.backup").write_bytes(state())
    with pytest.raises(StateError, match=r"empty(.|\n)*terraform.tfstate.backup"):
        local.reader.head("staging", "net")


def test_an_empty_file_beside_a_version_that_was_kept_is_a_lost_state(local):
    local.store("staging", "net", state())
    keep_version(local.reader.path("staging", "net"))
    local.store("staging", "net", b"")
    with pytest.raises(StateError, match="empty"):
        local.reader.head("staging", "net")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_an_error(local):
    local.store("staging", "net", state())
    local.reader.path("staging", "net").chmod(0)
    with pytest.raises(StateError, match="Permission denied"):
        local.reader.head("staging", "net")


def test_a_folder_in_the_place_of_the_file_is_an_error(local):
    local.reader.path("staging", "net").mkdir(parents=True)
    for question in (local.reader.head, local.reader.read):
        with pytest.raises(StateError, match="Is a directory"):
            question("staging", "net")


def test_the_head_of_a_large_state_is_read_without_the_rest(local, monkeypatch):
    local.store("staging", "net", state(padding=5_000_000))
    monkeypatch.setattr(LocalStates, "read", None)
    assert local.reader.head("staging", "net") == Head(3, "l-1")
