"""Which minions belong to a component when its minions is looked at."""

from __future__ import annotations

import threading
from types import SimpleNamespace

from saltform.config import Component
from saltform.config.types import Converge
from saltform.features.minions.drift import check_minions
from tests.support.minions import MemoryMinions, clean


def test_a_minion_of_its_own_is_asked_though_the_target_does_not_match_it():
    minions = MemoryMinions()
    minions.comes("consul-1", "vault-1")
    minions.answers["state.apply"] = clean
    component = Component(
        "staging", "consul", "m", minions=("consul-1", "vault-1", "gone-1"), converge=Converge("consul-*", 1)
    )
    found = check_minions(SimpleNamespace(minions=minions, cancel=threading.Event()), component)
    assert {minion: item["status"] for minion, item in found.items()} == {
        "consul-1": "clean",
        "vault-1": "clean",
        "gone-1": "unknown",
    }
