"""Which minions belong to a component when its fleet is looked at."""

from __future__ import annotations

import threading
from types import SimpleNamespace

from saltform.config import Component
from saltform.config.types import Converge
from saltform.operations.fleet.drift import look_at_fleet
from tests.support.fleet import MemoryFleet, clean


def test_a_minion_of_its_own_is_asked_though_the_target_does_not_match_it():
    fleet = MemoryFleet()
    fleet.comes("consul-1", "vault-1")
    fleet.answers["state.apply"] = clean
    component = Component(
        "staging", "consul", "m", minions=("consul-1", "vault-1", "gone-1"), converge=Converge("consul-*", 1)
    )
    found = look_at_fleet(SimpleNamespace(fleet=fleet, cancel=threading.Event()), component)
    assert {minion: item["status"] for minion, item in found.items()} == {
        "consul-1": "clean",
        "vault-1": "clean",
        "gone-1": "unknown",
    }
