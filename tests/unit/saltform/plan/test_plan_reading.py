"""A plan's JSON is read for what it means, and nothing sensitive is left in what was read."""

from __future__ import annotations

import copy

import pytest

from saltform.errors import PlanError
from saltform.plan import UNKNOWN, Hidden, digest, read, refines

KEY = b"k" * 32


def document(*changes, outputs=None, **more):
    return {
        "format_version": "1.2",
        "resource_changes": list(changes),
        "output_changes": outputs or {},
        "timestamp": "2026-11-16T03:30:00Z",
        "errored": False,
        **more,
    }


def change(address="module.main.aws_vpc.this", actions=("update",), before=None, after=None, **more):
    item = {
        "address": address,
        "type": address.rpartition("main.")[2].split(".")[0],
        "change": {
            "actions": list(actions),
            "before": before,
            "after": after,
            "after_unknown": more.pop("unknown", {}),
            "before_sensitive": more.pop("before_sensitive", {}),
            "after_sensitive": more.pop("after_sensitive", {}),
            **({"replace_paths": more.pop("replace_paths")} if "replace_paths" in more else {}),
            **({"importing": more.pop("importing")} if "importing" in more else {}),
        },
    }
    return item | more


def only(*given, **more):
    (found,) = read(document(change(*given, **more)), KEY)
    return found


def attributes(found):
    return [(each.path, each.before, each.after) for each in found.attributes]


def test_what_doesnt_change_is_left_out():
    assert read(document(change(actions=["no-op"], before={"a": 1}, after={"a": 1})), KEY).changes == ()


def test_an_update_says_each_attribute_before_and_after():
    found = only(
        before={"cidr": "10.0.0.0/16", "tags": {"a": "1", "b": "2"}},
        after={"cidr": "10.0.0.0/16", "tags": {"a": "9", "b": "2"}},
    )
    assert (found.address, found.type, found.action) == ("aws_vpc.this", "aws_vpc", "update")
    assert attributes(found) == [("tags.a", "1", "9")]


def test_an_attribute_that_is_left_out_because_it_is_unknown_is_shown_as_unknown():
    found = only(
        before={"id": "vpc-1", "n": [1, 2]}, after={"n": [1, None]}, unknown={"id": True, "n": [False, True]}
    )
    assert attributes(found) == [("id", "vpc-1", UNKNOWN), ("n", [1, 2], [1, UNKNOWN])]
    assert found.attributes[0].as_dict() == {
        "path": "id",
        "before": "vpc-1",
        "after": "(known after apply)",
        "unknown": True,
    }


def test_a_text_that_looks_like_an_unknown_is_a_text():
    found = only(before={"a": "x"}, after={"a": "(known after apply)"})
    assert "unknown" not in found.attributes[0].as_dict()


def test_what_forces_a_replacement_is_named():
    found = only(
        actions=["delete", "create"],
        before={"cidr": "a", "name": "x"},
        after={"cidr": "b", "name": "y"},
        replace_paths=[["cidr"]],
        action_reason="replace_because_cannot_update",
    )
    assert (found.action, found.reason) == ("replace", "replace_because_cannot_update")
    assert [(each.path, each.forces) for each in found.attributes] == [("cidr", True), ("name", False)]


def test_blocks_that_go_and_come_are_told_one_by_one_and_their_order_says_nothing():
    ssh, web, dns = ({"from_port": port, "cidr_blocks": ["10.0.0.0/8"]} for port in (22, 80, 53))
    found = only(before={"ingress": [ssh, web]}, after={"ingress": [dns, web]})
    assert attributes(found) == [("ingress", ssh, None), ("ingress", None, dns)]


def test_a_single_block_is_walked():
    found = only(before={"disk": [{"size": 8, "type": "gp2"}]}, after={"disk": [{"size": 9, "type": "gp2"}]})
    assert attributes(found) == [("disk[0].size", 8, 9)]


def test_nothing_and_empty_are_the_same_but_false_is_something():
    found = only(before={"a": None, "b": "", "c": None}, after={"a": [], "b": None, "c": False})
    assert attributes(found) == [("c", None, False)]


def test_tags_all_repeats_nothing():
    found = only(before={"tags": {}, "tags_all": {}}, after={"tags": {"a": "1"}, "tags_all": {"a": "1", "run": "7"}})
    assert attributes(found) == [("tags.a", None, "1"), ("tags_all.run", None, "7")]


def test_a_sensitive_value_is_nowhere_in_what_was_read():
    found = only(
        before={"password": "old-secret-1", "copied": "x old-secret-1 y", "list": ["z"]},
        after={"password": "new-secret-2", "copied": "x new-secret-2 y", "list": ["new-secret-2"]},
        before_sensitive={"password": True},
        after_sensitive={"password": True},
    )
    assert "secret" not in repr(found) and "secret" not in repr(found.attributes)
    assert isinstance(found.after["password"], Hidden)
    said = {each.path: each.as_dict()["after"] for each in found.attributes}
    assert said == {"password": "(sensitive)", "copied": "(sensitive)", "list": ["(sensitive)"]}


def test_secrets_that_only_we_know_are_hidden_too():
    (found,) = read(document(change(after={"a": "lent-token"})), KEY, lambda text: text.replace("lent", "***"))
    assert isinstance(found.after["a"], Hidden)


def test_a_sensitive_value_that_changes_is_a_change_without_being_shown():
    marks = {"before_sensitive": {"p": True}, "after_sensitive": {"p": True}}
    assert [each.path for each in only(before={"p": "a"}, after={"p": "b"}, **marks).attributes] == ["p"]
    assert only(before={"p": "a"}, after={"p": "a"}, **marks).attributes == ()


def test_placeholders_for_unknown_inputs_are_ours_and_left_out():
    pending = change("terraform_data.pending_vpc_id", ["create"], after={})
    assert read(document(pending), KEY).changes == ()


@pytest.mark.parametrize(
    ("more", "action"),
    [({"importing": {"id": "vpc-1"}}, "import"), ({"previous_address": "module.main.aws_vpc.old"}, "move")],
)
def test_an_import_or_a_move_alone_is_a_change(more, action):
    assert only(actions=["no-op"], before={"a": 1}, after={"a": 1}, **more).action == action


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"format_version": "2.0"},
        document(errored=True) | {"errored": True},
        document(change(actions=["explode"])),
        document({"address": "a.b"}),
        document({"address": "a.b", "type": "a", "change": {"actions": ["update"], "before": None}}),
        document(outputs={"o": {}}),
    ],
)
def test_a_plan_that_cant_be_read_is_refused(broken):
    with pytest.raises(PlanError):
        read(broken, KEY)


def test_the_digest_doesnt_know_the_time_and_the_order():
    one, two = change(before={"a": 1}, after={"a": 2}), change("module.main.aws_vpc.other", ["delete"], {"a": 1})
    first = read(document(one, two), KEY)
    second = read(document(two, one, timestamp="2027-01-01T00:00:00Z", terraform_version="9"), KEY)
    assert digest(first, KEY) == digest(second, KEY)


def test_the_digest_differs_with_every_planned_value_a_sensitive_one_included():
    base = document(
        change(before={"a": 1, "p": "x"}, after={"a": True, "p": "hidden-1"}, after_sensitive={"p": True}),
        outputs={"o": {"actions": ["update"], "before": 1, "after": 2, "after_sensitive": False}},
    )
    others = [copy.deepcopy(base) for _ in range(6)]
    inside = [other["resource_changes"][0]["change"] for other in others]
    inside[0]["after"]["a"] = 1  # which Python calls equal to True
    inside[1]["after"]["p"] = "hidden-2"
    inside[2]["after_unknown"] = {"a": True}
    inside[3]["before"]["a"] = 5
    inside[4]["actions"] = ["delete", "create"]
    others[5]["output_changes"]["o"]["after"] = 3
    plans = [read(each, KEY) for each in (base, *others)]
    assert len({digest(plan, KEY) for plan in plans}) == len(plans)
    assert not any(refines(plans[0], other) for number, other in enumerate(plans[1:]))


def test_an_unknown_value_may_become_anything_and_nothing_else_may_change():
    unknown = read(document(change(before={"a": 1, "b": 1}, after={"b": 2}, unknown={"a": True})), KEY)
    known = read(document(change(before={"a": 1, "b": 1}, after={"a": 7, "b": 2})), KEY)
    other = read(document(change(before={"a": 1, "b": 1}, after={"a": 7, "b": 3})), KEY)
    assert refines(unknown, known) and not refines(known, unknown)
    assert not refines(unknown, other)


def test_a_data_source_read_meanwhile_refines_and_a_new_one_doesnt():
    data = change("module.main.data.aws_ami.this", ["read"], after={}, unknown={"id": True})
    with_data, without = read(document(data), KEY), read(document(), KEY)
    assert refines(with_data, without) and not refines(without, with_data)
