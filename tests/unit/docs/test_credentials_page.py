"""Everything that docs/credentials.md says to write is accepted, and its table says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from saltform.config import load
from saltform.config.kinds import KINDS
from saltform.credentials import vault_init
from saltform.credentials.check import QUESTIONS

PAGE = (Path(__file__).parents[3] / "docs" / "credentials.md").read_text()
EXAMPLES = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
TABLE = PAGE.partition("## What each kind needs")[2].partition("An example of each")[0]
ROWS = re.findall(r"^\| ([a-z, ]+) \|(.*?)\|(.*?)\|(.*?)\|$", TABLE, re.MULTILINE)


@pytest.mark.parametrize("example", [example for example in EXAMPLES if "infrastructure" in example])
def test_every_example_is_valid_pillar(example):
    load(example)


def test_there_is_an_example_for_every_kind():
    providers = [load(example).providers for example in EXAMPLES if "providers" in example.get("infrastructure", {})]
    assert {provider.kind for found in providers for provider in found.values()} == set(KINDS)


@pytest.mark.parametrize("row", [row for row in ROWS if row[0] not in ("kind", "generic")], ids=lambda row: row[0])
def test_the_table_names_the_variables_of_each_kind(row):
    names, ways, beside, checked = row
    for name in names.split(", "):
        kind = KINDS[name]
        assert set(re.findall(r"`(\w+)`", ways)) == set().union(*kind.ways)
        assert set(re.findall(r"`(\w+)`", beside)) <= kind.optional
        assert (checked.strip() != "–") == (kind.check in QUESTIONS)


def test_every_kind_has_a_row():
    assert {name for row in ROWS for name in row[0].split(", ")} - {"kind"} == set(KINDS)


def test_the_example_of_a_safe_can_be_opened():
    (settings,) = [example["vault"] for example in EXAMPLES if "vault" in example]
    assert "vault-staging.asc" in vault_init.open_safe(settings).name
