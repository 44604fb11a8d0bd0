"""A plan that is kept is the plan that was made: same meaning, same digest."""

from __future__ import annotations

import pytest
from hypothesis import given

from saltform.errors import PlanError
from saltform.plan import digest, refines
from saltform.plan.keeping import dumped, loaded
from tests.unit.saltform.plan.test_plan_order import KEY, PLANS


@given(PLANS)
def test_a_kept_plan_is_the_same_plan(plan):
    again = loaded(dumped(plan))
    assert digest(again, KEY) == digest(plan, KEY)
    assert refines(plan, again)
    assert refines(again, plan)
    assert again == plan


@pytest.mark.parametrize("text", ["", "{}", "[]", "[[[1]], {}]", "[[], {}, 1]", "nonsense"])
def test_what_is_no_kept_plan_is_refused(text):
    with pytest.raises(PlanError):
        loaded(text)
