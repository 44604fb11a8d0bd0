"""The schema of a component in PostgreSQL: one for each, whatever the names are, and never too long."""

from __future__ import annotations

import itertools

from saltform.tfstate.pg import default_schema


def test_no_two_components_share_a_schema():
    names = ["a", "a_b", "b", "a-b", "b_c", "x" * 64, "x" * 63 + "y"]
    made = [default_schema(*pair) for pair in itertools.product(names, names)]
    assert len(set(made)) == len(made)
    assert max(map(len, made)) <= 63
    assert default_schema("staging", "net") == "staging.net"
