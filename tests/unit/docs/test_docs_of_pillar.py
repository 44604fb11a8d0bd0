"""docs/pillar.md and README say what the code accepts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from saltform.config import load, load_settings
from saltform.config.component import COMPONENT_KEYS

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


def test_every_key_of_a_component_is_documented_and_no_other():
    rows = re.findall(r"^\| (`[^|]+`) \|", (REPOSITORY / "docs" / "pillar.md").read_text(), re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", " ".join(rows))) == COMPONENT_KEYS
