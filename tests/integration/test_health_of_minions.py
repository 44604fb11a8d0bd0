"""Who is well is judged with a live master and minion: who is named, who is matched, who is silent, who can't say."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import salt.config
import yaml

from saltform.bridge.minions import SaltMinions
from saltform.config.types import Health
from saltform.features.minions import health
from saltform.minions import Target
from saltform.process import Cancel
from tests.support.cluster import HOME, TIMEOUT, Cluster, data

NOBODY = "host-3"


@pytest.fixture(scope="module")
def minions(cluster: Cluster) -> SaltMinions:
    return SaltMinions(salt.config.master_config(str(cluster.master_config / "master")))


@pytest.fixture(scope="module")
def judged(cluster: Cluster) -> Cluster:
    """The cluster with environments whose health nobody can vouch for."""
    path = cluster.pillar / "infrastructure.sls"
    tree = yaml.safe_load(path.read_text())
    one = {"base": data("base")}
    # Time for a round that is complete on a busy machine: a ping and the question, each a job of the minion.
    waits = {"target": HOME, "health": "test.false", "timeout": "40s"}
    tree["infrastructure"]["environments"] |= {
        "named": {"components": one, "health": {"function": "test.ping", "targets": [HOME, NOBODY]}},
        "proved-named": {"promoted_from": "named"},
        "waiting": {"components": {"base": data("base", converge=waits)}},
    }
    path.write_text(yaml.safe_dump(tree))
    return cluster


@contextlib.contextmanager
def frozen(cluster: Cluster, minions: SaltMinions) -> Iterator[None]:
    """The minion is there and does nothing: no process of it is scheduled. Afterwards it answers again."""
    main = psutil.Process(int((cluster.minion_config.parent / "run" / "minion.pid").read_text()))
    processes = [main, *main.children(recursive=True)]
    for process in processes:
        with contextlib.suppress(ProcessLookupError):  # a job of it may end this moment
            os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGCONT)
        assert ask(minions, (HOME,)) == ""  # after the jobs that it was sent meanwhile


def ask(minions: SaltMinions, targets: Target, function: str = "test.ping", seconds: float = TIMEOUT) -> str:
    services: Any = SimpleNamespace(minions=minions, cancel=Cancel())
    return health.unwell(services, Health(function, (), targets, seconds))


def test_a_promotion_is_refused_when_a_named_minion_does_not_exist(judged: Cluster) -> None:
    assert judged.runner("deploy", "named").exit_code == 0
    refused = judged.runner("promote", "named", "proved-named")
    assert refused.exit_code == 1
    assert f"health: {NOBODY} is no minion of this master" in refused.tree["error"]["detail"]
    assert refused.tree["error"]["fix"] == f"salt -L {HOME},{NOBODY} test.ping"
    assert judged.runs("proved-named") == []


@pytest.mark.parametrize("target", [(HOME,), HOME, "home.*", f"G@id:{HOME}", f"home.* and G@id:{HOME}"])
def test_who_is_meant_and_says_so_is_well(minions: SaltMinions, target: Target) -> None:
    assert ask(minions, target) == ""


def test_who_is_named_in_an_expression_and_does_not_exist_is_not_well(minions: SaltMinions) -> None:
    assert ask(minions, f"{HOME} or {NOBODY}") == f"{NOBODY} is no minion of this master"


@pytest.mark.parametrize("target", ["web-*", "G@role:nobody", "E@web.*"])
def test_a_target_that_matches_nobody_is_refused(minions: SaltMinions, target: str) -> None:
    assert ask(minions, target) == f"test.ping: no minion matches {target!r}"


def test_a_function_that_does_not_exist_is_told_from_a_minion_that_does_not_answer(minions: SaltMinions) -> None:
    """The minion looks through all of its modules first: that takes seconds, and a minute on a busy machine."""
    assert ask(minions, (HOME,), "test.pong").startswith(f"{HOME} has no function test.pong (")


def test_a_minion_that_is_slow_is_told_from_one_that_does_not_answer(
    minions: SaltMinions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "PING", TIMEOUT)  # it looks for the function meanwhile
    said = ask(minions, (HOME,), "no_such.function", seconds=0.0)
    assert said.startswith(f"{HOME} answers, but not no_such.function within 0 s (it takes longer, or there is no")


def test_a_frozen_minion_did_not_answer_whether_it_is_named_or_matched(
    cluster: Cluster, minions: SaltMinions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "PING", 2.0)  # nobody is there to need longer
    assert ask(minions, (HOME,)) == ""
    with frozen(cluster, minions):
        for target in ((HOME,), "home.*", f"G@id:{HOME}"):
            assert ask(minions, target, seconds=1.0) == f"{HOME} did not answer test.ping within 1 s"


def test_a_deploy_off_a_terminal_says_what_it_waits_for(judged: Cluster) -> None:
    failed = judged.runner("deploy", "waiting")
    assert failed.exit_code == 1
    error = failed.tree["steps"]["base"]["error"]
    assert error["missing"] == [f"{HOME}: test.false said False"]
    assert f"base converging: {HOME}: test.false said False" in failed.stderr
    assert judged.runner("status", "waiting").tree["components"]["base"]["status"] == "half done"
