"""Which fault a request meets."""

from __future__ import annotations

import json
import re

import pytest

from hive_emulator import faults
from hive_emulator.emulator import Emulator, load_actions
from hive_emulator.faults import Faults
from hive_emulator.store.memory import MemoryStore


def in_force(*given: dict, chance: float = 0.5) -> Faults:
    found = Faults(chance=lambda: chance)
    found.set(faults.read(json.dumps(given)))
    return found


def test_the_first_that_fits_is_used() -> None:
    some = in_force({"action": "Create*", "error": "A"}, {"action": "*", "error": "B"})
    assert some.pick("CreateVpc").error == "A"
    assert some.pick("DeleteVpc").error == "B"


def test_times_are_counted_and_then_the_next_one_fits() -> None:
    some = in_force({"action": "CreateVpc", "error": "A", "times": 2}, {"action": "CreateVpc", "error": "B"})
    assert [some.pick("CreateVpc").error for _ in range(4)] == ["A", "A", "B", "B"]


def test_a_chance_is_taken_below_its_number() -> None:
    assert in_force({"action": "CreateVpc", "chance": 0.6}).pick("CreateVpc")
    assert in_force({"action": "CreateVpc", "chance": 0.4}).pick("CreateVpc") is None


def test_none_are_in_force_at_first() -> None:
    assert not Faults()
    assert Faults().pick("CreateVpc") is None


def test_throttling_has_awss_code_and_status() -> None:
    problem = in_force({"action": "CreateVpc", "throttle": True}).pick("CreateVpc").problem()
    assert (problem.code, problem.status) == ("RequestLimitExceeded", 503)


@pytest.mark.parametrize(
    "member", ['"latency_ms": -1', '"stale_ms": -1', '"chance": 7', '"chance": NaN', '"times": -1', '"status": 200']
)
def test_a_number_that_makes_no_sense_is_refused_and_named(member: str) -> None:
    with pytest.raises(faults.FaultsError, match=f"{member.split(chr(34))[1]} is .*, expected"):
        faults.read('[{"action": "CreateVpc", ' + member + "}]")


@pytest.mark.parametrize("text", ["{", "1", '["x"]', '[{"action": 1}]', '[{"action": "CreateVpc", "times": true}]'])
def test_what_is_no_list_of_faults_is_refused(text: str) -> None:
    with pytest.raises(faults.FaultsError):
        faults.read(text)


@pytest.mark.parametrize(
    ("action", "hint"),
    [("CreateVpcs", "did you mean CreateVpc"), ("createvpc", "did you mean"), ("Sing*", "Describe")],
)
def test_a_fault_that_no_call_would_ever_meet_is_refused(action: str, hint: str) -> None:
    emulator = with_actions()
    emulator.set_faults(faults.read('[{"action": "Describe*", "hang": true}]'))
    given = faults.read(json.dumps([{"action": "CreateVpc"}, {"action": action, "drop": True}]))
    with pytest.raises(faults.FaultsError, match=f"fault 2: no call fits the action '{re.escape(action)}'; .*{hint}"):
        emulator.set_faults(given)
    assert [fault["action"] for fault in emulator.faults.listed()] == ["Describe*"]


def test_what_only_a_describe_does_is_refused_for_others() -> None:
    with pytest.raises(faults.FaultsError, match="stale_ms is for a Describe, which 'Create\\*' does not fit"):
        with_actions().set_faults(faults.read('[{"action": "Create*", "stale_ms": 500}]'))
    with_actions().set_faults(faults.read('[{"action": "*", "stale_ms": 500}]'))


def with_actions() -> Emulator:
    load_actions()
    return Emulator(MemoryStore())
