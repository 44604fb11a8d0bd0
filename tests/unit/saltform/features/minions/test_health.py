"""Who is well: everybody that the target means has to say so, and who doesn't is told in its own words."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from saltform.config.types import Health
from saltform.features.minions.health import lacks_function, unwell
from saltform.minions import PENDING, Answer
from saltform.process import Cancel
from tests.support.minions import MemoryMinions, broken, clean


@pytest.fixture
def minions():
    minions = MemoryMinions()
    minions.comes("host-1", "host-2")
    return minions


def judged(minions, targets, function="test.ping", *arguments):
    services = SimpleNamespace(minions=minions, cancel=Cancel())
    return unwell(services, Health(function, arguments, targets, 60.0))


def test_everybody_who_is_named_and_says_so_is_well(minions):
    assert judged(minions, ("host-1", "host-2")) == ""
    assert judged(minions, "host-*") == ""


def test_who_is_named_and_does_not_exist_is_not_well(minions):
    assert judged(minions, ("host-1", "host-3")) == "host-3 is no minion of this master"
    minions.held["host-3"] = (PENDING, "a key")
    assert judged(minions, ("host-1", "host-3")) == "the key of host-3 is pending"


def test_an_accepted_one_that_is_silent_is_not_well_whether_it_is_named_or_matched(minions):
    minions.here.remove("host-2")
    for targets in (("host-1", "host-2"), "host-*"):
        assert judged(minions, targets) == "host-2 did not answer test.ping within 60 s"


def test_a_minion_that_is_there_and_does_not_return_is_not_called_silent(minions, monkeypatch):
    call = minions.call

    def slow(target, function, *given):
        return call(target, function, *given) if function == "test.ping" else dict.fromkeys(minions.matched(target))

    monkeypatch.setattr(minions, "call", slow)
    minions.here.remove("host-2")
    assert judged(minions, "host-*", "consul.healthy").split("; ") == [
        "host-1 answers, but not consul.healthy within 60 s (it takes longer, or there is no such function)",
        "host-2 did not answer consul.healthy within 60 s",
    ]


def test_a_target_that_means_nobody_is_refused(minions):
    assert judged(minions, "web-*") == "test.ping: no minion matches 'web-*'"


def test_each_has_its_own_words(minions):
    minions.comes("host-4")
    minions.here.remove("host-2")
    minions.answers["test.ping"] = lambda minion: minion == "host-1"
    assert judged(minions, ("host-1", "host-2", "host-3", "host-4")).split("; ") == [
        "host-3 is no minion of this master",
        "host-2 did not answer test.ping within 60 s",
        "test.ping is not true on host-4 (it returned False)",
    ]


def test_a_state_says_which_of_its_states_failed(minions):
    minions.answers["state.apply"] = lambda minion: clean(minion) if minion == "host-1" else broken(minion)
    said = judged(minions, "host-*", "state.apply", "check")
    assert said == "state.apply check is not true on host-2 (state file.managed a failed: no such source)"


@pytest.mark.parametrize(
    "said",
    [
        "'consul.healthy' is not available.",
        "'consul' __virtual__ returned False: no such program",
        {
            "consul.healthy": "'consul.healthy' is not available.",
            "consul.healthy_nodes": "Documentation of that one.",
        },
    ],
)
def test_a_minion_without_the_function_says_so_in_its_return(said):
    assert lacks_function("consul.healthy", Answer(said, 1))


@pytest.mark.parametrize("answer", [Answer("consul is not available", 1), Answer(False), Answer({"a": 1}, 1)])
def test_what_a_function_returns_is_no_lack_of_it(answer):
    assert not lacks_function("consul.healthy", answer)
