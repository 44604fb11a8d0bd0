"""config.reader: durations, and names in messages."""

from __future__ import annotations

import pytest

from saltform.config import select
from saltform.config.reader import parse_duration
from saltform.errors import UnknownName


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("5m", 300), ("1h30m", 5400), ("2d", 172800), (45, 45), ("0.5s", 0.5)],
)
def test_durations_are_read(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "5 m", "m5", "-5m", 0, -1, True, None, "5m!", float("inf"), [], "0s"])
def test_what_is_no_duration_is_not_guessed_at(text):
    assert parse_duration(text) is None


def test_names_and_globs_select_in_the_order_of_what_is_known():
    assert select("vault,con*", ["consul", "networking", "vault"]) == ["consul", "vault"]
    assert select(None, ["b", "a"]) == ["b", "a"]
    assert select(["vault"], ["vault"]) == ["vault"]


def test_a_name_that_selects_nothing_is_an_error_with_the_nearest():
    with pytest.raises(UnknownName, match="'vualt'") as caught:
        select("consul,vualt", ["consul", "vault"])
    assert "'vault'" in caught.value.detail
