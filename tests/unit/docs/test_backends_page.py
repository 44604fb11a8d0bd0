"""Everything that docs/backends.md says to write is accepted, and its table says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from saltform.config import load
from saltform.config.backends import KINDS
from saltform.credentials.backends import NAMES

PAGE = (Path(__file__).parents[3] / "docs" / "backends.md").read_text()
EXAMPLES = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
ROWS = dict(re.findall(r"^\| `(\w+)` \|(.*)\|$", PAGE, re.MULTILINE))


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_valid_pillar(example):
    load(example)


@pytest.mark.parametrize("type_", KINDS)
def test_the_table_says_how_states_are_named_what_is_needed_and_what_is_lent(type_):
    _name, needs, lent = ROWS[type_].split("|")[:3]
    kind = KINDS[type_]
    assert set(re.findall(r"`(\w+)`", needs)) == kind.needs
    assert set(re.findall(r"`(\w+)`", lent)) == NAMES[type_]
    for name, template in kind.named.items():
        assert f"`{name}: '{template}'`" in ROWS[type_] if template else name in PAGE
