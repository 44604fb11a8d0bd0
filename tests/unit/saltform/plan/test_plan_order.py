"""Refining is a partial order, whatever the plans are."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from saltform.plan import UNKNOWN, Change, Hidden, Plan, digest, refines

KEY = b"key"
LEAVES = st.one_of(
    st.just(UNKNOWN), st.booleans(), st.integers(0, 2), st.sampled_from(["", "a", "(known after apply)"]), st.none()
) | st.builds(Hidden, st.sampled_from("xy"))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=5,
)
CHANGES = st.builds(
    Change,
    address=st.sampled_from(["t.a", "t.b"]),
    type=st.just("t"),
    action=st.sampled_from(["update", "read", "delete"]),
    before=st.sampled_from([None, {"a": 1}]),
    after=VALUES,
    replace_paths=st.frozensets(st.sampled_from([("a",), ("b",)])),
)
PLANS = st.builds(
    lambda changes, outputs: Plan(tuple(sorted(changes, key=lambda change: change.key)), outputs),
    st.lists(CHANGES, max_size=2, unique_by=lambda change: change.key),
    st.dictionaries(st.sampled_from("op"), LEAVES, max_size=1),
)


def known(value, chance):
    """The same value with some of its unknowns known."""
    if value is UNKNOWN:
        return chance.draw(VALUES)
    if isinstance(value, dict):
        return {key: known(item, chance) for key, item in value.items()}
    return [known(item, chance) for item in value] if isinstance(value, list) else value


def refined(plan, chance):
    changes = []
    for change in plan:
        if change.action == "read" and chance.draw(st.booleans()):
            continue
        paths = frozenset(path for path in change.replace_paths if chance.draw(st.booleans()))
        new = {**vars(change), "after": known(change.after, chance), "replace_paths": paths}
        changes.append(Change(**{name: new[name] for name in Change.__dataclass_fields__}))
    return Plan(tuple(changes), known(plan.outputs, chance))


@given(PLANS)
def test_every_plan_refines_itself(plan):
    assert refines(plan, plan)


@given(PLANS, st.data())
def test_knowing_more_refines_and_a_refinement_of_a_refinement_is_one(plan, chance):
    second = refined(plan, chance)
    third = refined(second, chance)
    assert refines(plan, second) and refines(second, third) and refines(plan, third)


def test_it_is_transitive_for_any_three_small_plans():
    leaves = [UNKNOWN, True, 1, "a", Hidden("x"), None]
    values = [*leaves, *([leaf] for leaf in leaves), *({"a": leaf} for leaf in leaves), [], {}]
    plans = [Plan((Change("t.a", "t", "update", None, value),)) for value in values]
    finer = {(i, j) for i, one in enumerate(plans) for j, two in enumerate(plans) if refines(one, two)}
    assert all((i, k) in finer for i, j in finer for other, k in finer if other == j)
    assert len(finer) > len(plans)  # and it isn't only equality


@given(PLANS, PLANS)
def test_two_that_refine_each_other_have_one_digest_and_the_other_way_round(one, two):
    assert (refines(one, two) and refines(two, one)) == (digest(one, KEY) == digest(two, KEY))


@given(PLANS, st.data())
def test_a_refinement_with_another_digest_is_never_refined_back(plan, chance):
    second = refined(plan, chance)
    assume(digest(plan, KEY) != digest(second, KEY))
    assert not refines(second, plan)
