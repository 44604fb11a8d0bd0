"""Commands as the pages show them, with the names of a test in place of the page's own."""

from __future__ import annotations

import re
import shlex

from tests.support.cluster import ROOT


def command(page: str, start: str, **names: str) -> list[str]:
    """The words of the one line of a page that starts with this, a prompt or an indent left out."""
    found = re.findall(rf"^(?:\$ | {{4}})({re.escape(start)}.*)$", (ROOT / page).read_text(), re.MULTILINE)
    assert len(found) == 1, f"{page} has {len(found)} lines that start with {start!r}"
    line = found[0]
    for theirs, ours in names.items():
        assert theirs in line, f"{page} says nothing of {theirs}: {line}"
        line = line.replace(theirs, ours)
    return shlex.split(line)
