"""One real PostgreSQL for these tests, with tables of their own for each."""

from __future__ import annotations

import itertools

import pytest

from tests.support.postgres import postgres

NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def server():
    with postgres() as started:
        yield started


@pytest.fixture
def address(server):
    return server.schema(f"log{next(NUMBERS)}")
