"""docs/promotion.md: its example is valid, and its gates are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from saltform.config import load

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "promotion.md").read_text()


def test_its_examples_are_valid():
    trees = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
    whole, pins = (tree for tree in trees if "infrastructure" in tree)
    production = load(whole, "production", has_orphans=lambda _: True).environment("production")
    assert (production.promoted_from, production.promote.soak) == ("staging", 3600)
    assert load({"infrastructure": whole["infrastructure"] | pins["infrastructure"]}, "staging").pins["production"]
