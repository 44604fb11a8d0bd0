"""What is sent to ``/_hive/snapshot`` is unpacked only so far."""

from __future__ import annotations

import gzip

import pytest

from hive_emulator.handlers import admin


def test_a_small_file_can_not_become_a_huge_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "_MAX_SNAPSHOT", 1024 * 1024)
    assert admin._unpacked(gzip.compress(b"x" * 1024 * 1024)) == b"x" * 1024 * 1024
    with pytest.raises(admin.AdminError, match="larger than 1 MB"):
        admin._unpacked(gzip.compress(b"x" * 1024 * 1024 + b"y"))
