"""The repository's own pillar, compiled once for all tests that read it."""

from __future__ import annotations

import pytest

from tests.support.salt_local import compile_pillar


@pytest.fixture(scope="session")
def pillar(tmp_path_factory):
    """What a runner gets: the pillar of `<master id>_master`."""
    return compile_pillar(tmp_path_factory.mktemp("pillar"), "desk_master")
