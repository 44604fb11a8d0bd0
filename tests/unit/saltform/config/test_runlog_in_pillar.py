"""infrastructure:runlog: an address or nothing; and no local states beside one."""

from __future__ import annotations

import pytest

from saltform.config import load
from saltform.config.runlog import runlog_address
from saltform.errors import ConfigError

ADDRESS = "postgresql://saltform:hush-hush-hush@db/saltform"


def problems(runlog, backend="local"):
    component = {"module": "m", "backend": {"type": backend}}
    tree = {"runlog": runlog, "environments": {"staging": {"components": {"web": component}}}}
    with pytest.raises(ConfigError) as caught:
        load({"infrastructure": tree})
    return caught.value.problems


def test_without_it_the_run_log_is_a_file():
    assert runlog_address({}) == ""
    assert runlog_address({"runlog": ADDRESS}) == ADDRESS


@pytest.mark.parametrize("wrong", ["mysql://ada:hush-hush-hush@db/x", "/var/lib/hush", 7, {"url": ADDRESS}])
def test_anything_else_is_refused_and_never_shown(wrong):
    (problem,) = problems(wrong)
    assert problem.path == "infrastructure:runlog"
    assert "postgresql://USER@HOST" in problem.expected
    assert "hush" not in str(problem)
    with pytest.raises(ConfigError):
        runlog_address({"runlog": wrong})


def test_with_several_masters_a_local_state_is_refused_with_the_reason():
    (problem,) = problems(ADDRESS)
    assert problem.path == "infrastructure:environments:staging:components:web:backend"
    assert problem.found == "local"
    assert "on the disk of one" in problem.expected
