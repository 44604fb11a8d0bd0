from __future__ import annotations

import json

import pytest

from saltform.status import Status

UNDERWAY = {"pending", "running", "converging", "awaiting approval"}


def test_the_words_are_those_of_the_design():
    assert [status.value for status in Status] == [
        "pending", "running", "planned", "applied", "unchanged", "deferred", "awaiting approval",
        "converging", "destroyed", "rolled back", "skipped", "failed", "cancelled",
    ]  # fmt: skip


@pytest.mark.parametrize("status", Status)
def test_only_what_is_underway_can_still_change(status):
    assert status.terminal == (status.value not in UNDERWAY)


@pytest.mark.parametrize("status", Status)
def test_what_ended_badly_or_not_at_all_is_not_good(status):
    assert status.good == (status.value not in UNDERWAY | {"skipped", "failed", "cancelled"})


def test_a_status_is_its_word_in_text_and_in_json():
    assert f"{Status.AWAITING_APPROVAL}" == str(Status.AWAITING_APPROVAL) == "awaiting approval"
    assert json.dumps({"status": Status.ROLLED_BACK}) == '{"status": "rolled back"}'
    assert Status("failed") is Status.FAILED
