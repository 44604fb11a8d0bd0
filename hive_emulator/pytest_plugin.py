"""Fixtures for pytest: put ``pytest_plugins = ["hive_emulator.pytest_plugin"]`` in your conftest.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hive_emulator.testing import RunningHive, running_emulator


@pytest.fixture(scope="session")
def hive_server() -> Iterator[RunningHive]:
    """One emulator for the whole run: in memory, plain HTTP, on a free port."""
    with running_emulator() as hive:
        yield hive


@pytest.fixture
def hive() -> Iterator[RunningHive]:
    """A fresh emulator for one test: in memory, plain HTTP, on a free port."""
    with running_emulator() as running:
        yield running
