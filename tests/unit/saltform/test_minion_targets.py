"""Whom a target names, as far as it names anybody."""

from __future__ import annotations

import pytest

from saltform.minions import named_ids


@pytest.mark.parametrize(
    ("target", "names"),
    [
        (("host-1", "host-3"), ("host-1", "host-3")),
        ("host-1", ("host-1",)),
        ("host-1 or host-3", ("host-1", "host-3")),
        ("L@host-1,host-3 or web-*", ("host-1", "host-3")),
        ("web-* or db-? or x[12]", ()),
        ("G@role:web and host-1", ("host-1",)),
        ("E@host-[0-9] or I@a:b or N@group", ()),
        ("host-1 and not host-3", ("host-1",)),
        ("not host-3 and host-1", ("host-1",)),
        ("not ( host-3 or ( host-4 and G@a:b ) ) or host-1", ("host-1",)),
        ("not not host-1 or host-2", ("host-2",)),
        ("( host-1 or host-1 )", ("host-1",)),
    ],
)
def test_the_ids_that_a_target_names(target, names):
    assert named_ids(target) == names
