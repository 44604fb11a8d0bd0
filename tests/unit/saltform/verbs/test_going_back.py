"""The order of a rollback, and which provider lock it takes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from saltform.config.types import Component
from saltform.engine.options import Options
from saltform.engine.released import Released
from saltform.errors import TerraformError
from saltform.runlog import StepRecord
from saltform.status import Status
from saltform.verbs import rollback


def test_what_goes_away_is_gone_before_what_it_needs_goes_back():
    order = rollback._order({"net": [], "app": ["net"]}, {"net": [], "app": ["net"], "new": ["net"]}, ["new"])
    assert order.order() == ["new", "net", "app"]


def test_what_needs_it_now_goes_back_before_it_goes_away():
    now = {"net": [], "new": ["net"], "app": ["new"]}
    assert rollback._order({"app": []}, now, ["new"]).order() == ["app", "new"]


def test_a_circle_is_avoided_by_destroying_last():
    """The old app needs the old net, the new app needs what goes away, and that needs net."""
    now = {"net": [], "new": ["net"], "app": ["new", "net"]}
    assert rollback._order({"net": [], "app": ["net"]}, now, ["new"]).order() == ["net", "app", "new"]


def test_what_goes_away_goes_in_reverse():
    now = {"a": [], "b": ["a"], "c": ["b"]}
    assert rollback._order({}, now, ["a", "b", "c"]).order() == ["c", "b", "a"]


def going_back(locks, today, monkeypatch, summary=rollback._NEWER_STATE):
    """One component that goes back, with an older provider that can't read the state: the locks that were tried."""
    content = {"provider": "", "provider_lock": "older", "secret_variables": []}
    context = SimpleNamespace(
        requests={},
        records={"net": SimpleNamespace(release="now")},
        releases={"net": Released(Component("staging", "net", "m"), content)},
        services=SimpleNamespace(runlog=SimpleNamespace(release=lambda _: {"provider_lock": today})),
        outputs=lambda _: {},
    )

    def apply(run, options, name, step):
        locks.append(context.releases[name].content["provider_lock"])
        if locks[-1] == "older":
            raise TerraformError("plan", name, 1, [{"severity": "error", "summary": summary}])
        return Status.APPLIED

    monkeypatch.setattr(rollback, "_apply", apply)
    monkeypatch.setattr(rollback, "_part", lambda *_: SimpleNamespace(unchanged=lambda: False))
    step = StepRecord("net")
    return rollback._go_back(SimpleNamespace(context=context), Options(), "net", step), step.reason


def test_the_newer_lock_is_kept_where_the_older_provider_can_not_read_the_state(monkeypatch):
    locks: list[str] = []
    status, reason = going_back(locks, "newer", monkeypatch)
    assert (status, locks) == (Status.ROLLED_BACK, ["older", "newer"])
    assert "with the newer provider lock" in reason


@pytest.mark.parametrize(("today", "summary"), [("older", rollback._NEWER_STATE), ("newer", "Invalid value")])
def test_any_other_failure_is_one(monkeypatch, today, summary):
    locks: list[str] = []
    with pytest.raises(TerraformError):
        going_back(locks, today, monkeypatch, summary)
    assert locks == ["older"]
