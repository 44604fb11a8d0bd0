"""infrastructure:runlog: an address or nothing; and no local states beside one."""

from __future__ import annotations

import pytest

from saltform.config import load
from saltform.config.runlog import dead_after, runlog_address
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


def test_a_holder_is_dead_after_half_a_minute_or_what_pillar_says():
    assert dead_after({}) == 30.0
    assert dead_after({"locks": {"dead_after": "1m"}}) == 60.0


@pytest.mark.parametrize("wrong", ["soon", "0.5s", -1, {"dead": "30s"}])
def test_another_time_is_refused_where_it_stands(wrong):
    tree = {"locks": wrong if isinstance(wrong, dict) else {"dead_after": wrong}, "runlog": ADDRESS}
    with pytest.raises(ConfigError) as caught:
        dead_after(tree)
    (problem,) = caught.value.problems
    assert problem.path.startswith("infrastructure:locks")
    with pytest.raises(ConfigError) as caught:
        load({"infrastructure": {**tree, "environments": {"staging": {"components": {"web": {"module": "web"}}}}}})
    assert problem in caught.value.problems
