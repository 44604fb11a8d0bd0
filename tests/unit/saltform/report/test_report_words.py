from __future__ import annotations

import pytest

from saltform.report import style, words
from saltform.status import Status


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""), (0, "0.0 s"), (12.34, "12.3 s"), (99.94, "99.9 s"), (99.96, "1 min 40 s"),
        (125, "2 min 5 s"), (3599.6, "1 h 0 min"), (7260, "2 h 1 min"),
    ],
)  # fmt: skip
def test_a_duration_has_the_precision_a_person_wants(seconds, text):
    assert words.duration(seconds) == text


@pytest.mark.parametrize(
    ("step", "text"),
    [
        ({"add": 4, "change": 1, "destroy": 2}, "+4 ~1 -2"),
        ({"add": 0, "change": 0, "destroy": 1}, "-1"),
        ({"add": None}, ""),
        ({}, ""),
    ],
)
def test_counts_leave_out_what_is_zero(step, text):
    assert words.counts(step) == text


def test_a_summary_counts_by_status_in_a_fixed_order():
    statuses = ["failed", "unchanged", "applied", "unchanged", "rolled back"]
    assert words.summary("deploy", "staging", statuses, 12.34) == (
        "deploy staging: 1 applied, 2 unchanged, 1 rolled back, 1 failed in 12.3 s"
    )


def test_a_summary_of_nothing_says_so():
    assert words.summary("plan", "staging", []) == "plan staging: nothing to do"


def test_clean_takes_away_what_a_terminal_would_obey():
    nasty = "a\x1b[31mred\x1b[0m\x07\r\nb\tc\x9b2J\u202e"
    assert words.clean(nasty) == "ared\nb\tc2J"


def test_every_status_has_a_mark_a_style_and_a_colour():
    for table in (style.MARKS, style.STYLES, style.COLOURS):
        assert set(table) == set(Status)
