"""States in PostgreSQL on a master that has no client for it."""

from __future__ import annotations

import sys

import pytest

from saltform.errors import StateError
from saltform.tfstate.pg import PgStates


def test_the_missing_package_is_named_with_the_command_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StateError, match="psycopg is missing") as caught:
        PgStates(lambda: None, "{}.{}".format)
    assert caught.value.fix == "salt-pip install 'psycopg[binary]'"
