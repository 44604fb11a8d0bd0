"""One OpenBao server for all tests of a module folder; those that break it start their own."""

from __future__ import annotations

import pytest

from tests.support.openbao import dev_server


@pytest.fixture(scope="session")
def bao(tmp_path_factory):
    with dev_server(tmp_path_factory.mktemp("bao")) as server:
        yield server
