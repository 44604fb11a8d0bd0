"""Where a request stands, by what people said, by the rule as it is now, and by the clock."""

from __future__ import annotations

import dataclasses

import pytest

from saltform.config.approval import Approval
from saltform.features.approval.approvers import refusal
from saltform.features.approval.request_status import standing
from saltform.runlog.approvals import Decision, Request

ASKED, LATER, EXPIRES = "2026-11-16T08:00:00.000Z", "2026-11-16T09:00:00.000Z", "2026-11-17T08:00:00.000Z"
REQUEST = Request("7", "web", "staging", "p", "d", "f", 1, "l", {"why": []}, ASKED, EXPIRES)
RULE = Approval("always", ("@sre",), frozenset({"alice", "bob", "carol"}), 2, True)


def said(author, decision="approved", moment="2026-11-16T08:30:00.000Z", origin="master", **changes):
    return dataclasses.replace(Decision("7", "web", "d", author, origin, decision, "", moment), **changes)


def stands(*decisions, rule=RULE, now=LATER, asked_by="ada"):
    def allowed(author, origin):
        return refusal(rule, asked_by, author, origin)

    return standing(REQUEST, decisions, rule, allowed, now)


def test_so_many_different_people_have_to_agree():
    assert stands().word == stands(said("alice")).word == stands(said("alice"), said("alice")).word == "waiting"
    granted = stands(said("alice"), said("bob"))
    assert (granted.word, granted.approved_by, granted.granted) == ("granted", ("alice", "bob"), True)


def test_root_at_the_shell_is_one_of_them_and_one_person_is_one_whatever_the_name():
    assert stands(said("root", origin="shell"), said("bob")).granted
    assert stands(said("sudo_alice", origin="shell"), said("alice")).word == "waiting"
    assert stands(said("root", origin="master"), said("bob")).word == "waiting"


def test_two_spellings_of_one_name_are_one_person_and_the_author_is_the_author():
    everybody = Approval("always", count=2)
    assert stands(said("alice"), said("Alice"), said("ALICE "), rule=everybody).word == "waiting"
    assert refusal(Approval("always", not_author=True), "ada", "Ada", "master") == (
        "Ada asked for the run (not_author: true)"
    )


def test_one_no_is_enough():
    found = stands(said("alice"), said("bob"), said("carol", "rejected", comment="not now"))
    assert (found.word, found.why) == ("rejected", "rejected by carol: not now")


@pytest.mark.parametrize("wrong", [{"run": "8"}, {"component": "db"}, {"digest": "e"}])
def test_what_was_said_about_another_plan_does_not_count(wrong):
    assert stands(said("alice", **wrong), said("bob")).approved_by == ("bob",)


def test_what_was_said_before_it_was_asked_again_does_not_count():
    assert stands(said("alice", moment="2026-11-16T07:00:00.000Z"), said("bob")).approved_by == ("bob",)


def test_who_lost_the_right_does_not_count_and_is_named():
    found = stands(said("alice"), said("mallory"), said("ada"))
    assert found.approved_by == ("alice",)
    assert "mallory no longer counts: mallory is not among @sre" in found.why
    author = stands(said("alice"), said("bob"), asked_by="bob")
    assert (author.word, author.approved_by) == ("waiting", ("alice",))


def test_a_request_expires_with_its_approvals():
    assert stands(said("alice"), said("bob"), now="2026-11-17T08:00:00.001Z").word == "expired"
    assert stands(said("alice"), said("bob"), now=EXPIRES).granted


def test_a_clock_that_went_backwards_grants_nothing():
    assert stands(said("alice"), said("bob"), now="2026-11-16T08:10:00.000Z").word == "clock"
    assert stands(now="2026-11-16T07:00:00.000Z").word == "clock"
    assert stands(said("alice"), said("bob"), now="2026-11-16T08:29:30.000Z").granted  # two masters' clocks


@pytest.mark.parametrize("nobody", ["Reactor", "UNKNOWN", "unknown", ""])
def test_only_people_approve(nobody):
    everybody = Approval("always")
    assert refusal(everybody, "ada", nobody, "master") == "only a person can approve"
    assert refusal(everybody, "ada", "zoe", "master") == ""
    assert refusal(everybody, "ada", "minion web-1", "minion web-1") == "only a person can approve"
