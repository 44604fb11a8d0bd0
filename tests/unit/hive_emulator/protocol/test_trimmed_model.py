"""The shipped model is the installed botocore's, and covers every action that has a behaviour."""

from __future__ import annotations

import json

import botocore

from hive_emulator.action import registry
from hive_emulator.emulator import load_actions
from hive_emulator.protocol import trim
from hive_emulator.protocol.model import _lay_over, operation, services


def test_the_shipped_model_is_what_its_botocore_says() -> None:
    shipped = trim.MODEL.read_text(encoding="utf-8")
    if json.loads(shipped)["botocore"] == botocore.__version__:
        assert trim.text(trim.trimmed()) == shipped, "run: python -m hive_emulator.protocol.trim"


def test_another_botocore_has_everything_that_the_shipped_model_has() -> None:
    """A newer one may have more; what it has lost or changed would be wrong here."""
    installed = trim.trimmed()
    shipped = json.loads(trim.MODEL.read_text(encoding="utf-8"))
    lost = [
        f"{service}.{name}.{member}"
        for service in trim.ACTIONS
        for name, shape in shipped[service]["shapes"].items()
        for member, ref in shape.get("members", {}).items()
        if installed[service]["shapes"].get(name, {}).get("members", {}).get(member) != ref
    ]
    assert not lost, "run: python -m hive_emulator.protocol.trim"


def test_every_action_with_a_behaviour_is_in_the_model_and_the_other_way_round() -> None:
    load_actions()
    in_the_model = {(service, name) for service, model in services().items() for name in model["operations"]}
    assert set(registry()) == in_the_model


def test_an_action_that_aws_does_not_have_is_none() -> None:
    assert operation("ec2", "MakeCoffee") is None
    assert operation("s3", "ListBuckets") is None


def test_an_overlay_adds_replaces_and_takes_away() -> None:
    model = {"shapes": {"A": {"members": {"X": 1, "Y": 2}}, "B": {}}}
    _lay_over(model, {"shapes": {"A": {"members": {"X": None, "Y": 3, "Z": 4}}, "B": None}})
    assert model == {"shapes": {"A": {"members": {"Y": 3, "Z": 4}}}}
