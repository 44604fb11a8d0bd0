"""docs/highstate.md says what the code takes: its components are valid, and its tables have every key."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import yaml

from saltform.config import load
from saltform.config.component import MINION_VARIABLES
from saltform.config.types import Converge

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "highstate.md").read_text()


def test_every_example_of_a_component_is_valid():
    examples = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
    assert len(examples) == 2
    for components in examples:
        providers = {"hive": {"kind": "aws", "endpoint": "https://127.0.0.1:9999", "region": "ap-southeast-2"}}
        tree = {"providers": providers, "environments": {"staging": {"components": components}}}
        consul = load({"infrastructure": tree}).environment("staging").components["consul"]
        assert consul.minions == ("consul-1", "consul-2", "consul-3")
    assert consul.converge == Converge("G@role:consul", 3, True, "consul.healthy", 600.0)


def test_the_tables_name_every_key_of_converge_and_what_a_module_gets():
    rows = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert rows == {field.name for field in fields(Converge)}
    for name in MINION_VARIABLES:
        assert f"| variable `{name}` |" in PAGE


def test_the_files_that_it_names_are_there():
    for link in re.findall(r"\]\(\.\./([\w/.-]+)\)", PAGE):
        assert (ROOT / link).exists(), link
