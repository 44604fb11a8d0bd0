"""docs/pillar.md and README say what the code accepts."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
import yaml

from saltform.config import load, load_settings
from saltform.config.component import COMPONENT_KEYS
from saltform.config.load import ENVIRONMENT_KEYS
from saltform.config.types import Limits, Timeouts

REPOSITORY = Path(__file__).resolve().parents[3]


def blocks(name):
    text = (REPOSITORY / name).read_text()
    return [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]


@pytest.mark.parametrize("name", ["README.md", "docs/pillar.md"])
def test_every_example_of_pillar_is_valid(name):
    found = [tree for tree in blocks(name) if "infrastructure" in tree]
    assert found
    for tree in found:
        assert load(tree).environment("staging").components["consul"].needs == ("networking",)


@pytest.mark.parametrize("name", ["README.md", "docs/pillar.md"])
def test_every_example_of_the_masters_configuration_is_valid(name):
    found = [tree for tree in blocks(name) if "saltform" in tree]
    assert found
    for tree in found:
        assert load_settings(tree).modules


def documented_keys(heading):
    """What stands in the first column of the tables below a heading of the pillar's page."""
    section = (REPOSITORY / "docs" / "pillar.md").read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+`) \|", section, re.MULTILINE)
    return set(re.findall(r"`(\w+)`", " ".join(rows)))


def test_every_key_of_a_component_is_documented_and_no_other():
    assert documented_keys("Keys of a component") == COMPONENT_KEYS


def test_every_key_of_an_environment_is_documented_and_no_other():
    assert documented_keys("Keys of an environment") == set(ENVIRONMENT_KEYS)


@pytest.mark.parametrize(("heading", "keys"), [("Time-outs", Timeouts), ("Limits of a provider", Limits)])
def test_every_time_out_and_limit_is_documented(heading, keys):
    assert documented_keys(heading) == {item.name for item in dataclasses.fields(keys)}
