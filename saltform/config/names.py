"""Names: which are allowed, which one was meant, which ones a caller's globs select."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Iterable, Sequence

from saltform.errors import UnknownName

# Names become folder names, event tags and resource tags, and `@component.output` splits at the dot.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
NAME_RULE = "letters, digits, '-' and '_', at most 64, starting with a letter or digit"
# Salt's own ids, without what would be a glob or a path.
MINION = re.compile(r"[A-Za-z0-9](?!.*\.\.)[A-Za-z0-9._-]{0,253}")
FUNCTION = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*")
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant, or an empty string."""
    found = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.6)
    return found[0] if found else ""


def suggestion(name: str, known: Iterable[str]) -> str:
    """A sentence that names the nearest one, to be put behind another sentence; empty when none is near."""
    near = nearest(name, known)
    return f" Did you mean {near!r}?" if near else ""


def select(wanted: str | Sequence[str] | None, known: Iterable[str], noun: str = "component") -> list[str]:
    """The known names that the caller's names and globs select, in the order of `known`; all for None.

    A name or glob that selects nothing is an error: a typo must never turn into "nothing to do".
    """
    names = list(known)
    if not wanted:
        return names
    patterns = wanted.split(",") if isinstance(wanted, str) else [str(item) for item in wanted]
    chosen: set[str] = set()
    for pattern in (item.strip() for item in patterns):
        matched = fnmatch.filter(names, pattern)
        if not matched:
            raise UnknownName(noun, pattern, names, nearest(pattern, names))
        chosen.update(matched)
    return [name for name in names if name in chosen]
