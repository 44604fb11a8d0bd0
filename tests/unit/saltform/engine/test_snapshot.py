"""What a run was told to do is on the disk of the master where it began."""

from __future__ import annotations

import socket

import pytest

from saltform.engine.snapshot import read_snapshot
from saltform.errors import StateError


def test_a_run_of_another_master_is_resumed_there(tmp_path):
    with pytest.raises(StateError, match="on another-master") as caught:
        read_snapshot(tmp_path / "20260101", "another-master")
    assert "on another-master: salt-run infrastructure.resume 20260101" in caught.value.fix


def test_what_is_gone_here_is_gone(tmp_path):
    with pytest.raises(StateError, match="not there any more"):
        read_snapshot(tmp_path / "20260101", socket.gethostname())
