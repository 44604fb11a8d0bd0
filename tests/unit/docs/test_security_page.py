"""docs/security.md names a test for each guarantee: that there is such a test is the least."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/security.md").read_text()
ROWS = [line for part in PAGE.split("\n## ")[2:5] for line in part.splitlines() if line.startswith("| ")]


def test_every_guarantee_names_tests_that_there_are():
    guarantees = [row for row in ROWS if not row.startswith("| guaranteed")]
    assert len(guarantees) > 15
    for row in guarantees:
        named = re.findall(r"`((?:unit|functional|integration)/[^`]+)`", row)
        assert named, row
        assert [path for path in named if not (ROOT / "tests" / path).exists()] == []
