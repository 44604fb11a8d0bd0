"""terraform_resource among ordinary states: requisites, test=True, watch."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.cluster import HOME, Cluster

RESOURCE = "terraform_resource"


@pytest.fixture
def networked(cluster: Cluster) -> Cluster:
    """A highstate with two components, a condition between them, and an ordinary state after them."""
    states = {
        "states/base": {f"{RESOURCE}.present": []},
        "states/base.name": {
            f"{RESOURCE}.output": [{"equals": "base"}, {"require": [{RESOURCE: "states/base"}]}],
        },
        "states/app": {f"{RESOURCE}.present": [{"require": [{RESOURCE: "states/base.name"}]}]},
        "tell": {"test.configurable_test_state": [{"changes": True}, {"onchanges": [{RESOURCE: "states/app"}]}]},
    }
    cluster.write_sls("top", {"base": {HOME: ["networked"]}})
    cluster.write_sls("networked", states)
    return cluster


def outcomes(results: list[dict[str, Any]]) -> list[Any]:
    return [item["result"] for item in results]


def test_a_highstate_is_exact_in_a_test_and_does_what_the_test_said(networked: Cluster) -> None:
    planned = networked.apply(test=True)
    assert outcomes(planned)[:3] == [None, None, None]
    assert planned[0]["changes"]["terraform_data.this"] == "create"
    assert not (networked.layout.states("states", "base") / "terraform.tfstate").exists()

    done = networked.apply()
    assert outcomes(done) == [True] * 4, done
    assert [item["changes"] for item in done[:3]] == [planned[0]["changes"], {}, planned[2]["changes"]]
    assert done[3]["changes"]  # onchanges: the component changed

    for options in ({"test": True}, {}):
        again = networked.apply(**options)
        assert outcomes(again) == [True] * 4
        assert all(item["changes"] == {} for item in again)


def test_a_watch_applies_again_and_compares_with_reality(cluster: Cluster) -> None:
    cluster.write_sls(
        "watching",
        {
            "trigger": {"test.succeed_with_changes": []},
            "states/watcher": {f"{RESOURCE}.present": [{"watch": [{"test": "trigger"}]}]},
        },
    )
    assert outcomes(cluster.apply("watching")) == [True, True]
    again = cluster.apply("watching")
    assert outcomes(again) == [True, True]
    assert again[1]["changes"] == {}
    assert cluster.newest_run("states")["options"]["refresh"] is True


def test_a_condition_that_does_not_hold_keeps_what_requires_it_from_running(cluster: Cluster) -> None:
    cluster.write_sls(
        "waiting",
        {
            "states/late.id": {f"{RESOURCE}.output": []},
            "after": {"test.succeed_with_changes": [{"require": [{RESOURCE: "states/late.id"}]}]},
        },
    )
    results = cluster.apply("waiting")
    assert outcomes(results) == [False, False]
    assert results[0]["comment"] == "states/late.id is not there"
    assert results[1]["changes"] == {}


def test_absent_destroys_in_the_order_of_its_requisites(cluster: Cluster) -> None:
    assert cluster.runner("deploy", "absent").exit_code == 0
    cluster.write_sls(
        "gone",
        {
            "absent/app": {f"{RESOURCE}.absent": []},
            "absent/base": {f"{RESOURCE}.absent": [{"require": [{RESOURCE: "absent/app"}]}]},
        },
    )
    results = cluster.apply("gone")
    assert outcomes(results) == [True, True], results
    assert [item["changes"]["terraform_data.this"] for item in results] == ["delete", "delete"]
    assert all(item["changes"] == {} for item in cluster.apply("gone"))


def test_an_error_is_a_result_with_a_comment(cluster: Cluster) -> None:
    cluster.write_sls("mistaken", {"states/bsae": {f"{RESOURCE}.present": []}})
    (result,) = cluster.apply("mistaken")
    assert (result["result"], result["changes"]) == (False, {})
    assert "Did you mean 'base'?" in result["comment"]


SALTS_OWN = [
    {"order": 1},
    {"failhard": False},
    {"onlyif": "true"},
    {"unless": "false"},
    {"retry": {"attempts": 2, "interval": 1}},
    {"fire_event": True},
    {"reload_modules": True},
    {"umask": "022"},
    {"saltenv": "base"},
    {"aggregate": True},
]


@pytest.mark.parametrize(
    ("function", "unknown", "said"),
    [
        ("present", {"preserve_dat": False}, "present has no such argument. Did you mean 'preserve_data'?"),
        ("present", {"test": True}, "present has no such argument."),
        ("absent", {"preserved_data": False}, "Did you mean 'preserve_data'?"),
        ("output", {"match": "x"}, "Did you mean 'matches'?"),
    ],
)
def test_salts_own_keywords_work_and_any_other_is_refused(
    cluster: Cluster, function: str, unknown: dict[str, Any], said: str
) -> None:
    """Also where the state watches: Salt calls it a second time then, as a watcher."""
    name = "keywords/base.name" if function == "output" else "keywords/base"
    watch = {"watch": [{"test": "trigger"}]}
    trigger = {"test.succeed_with_changes": []}
    cluster.write_sls("refused", {"trigger": trigger, name: {f"{RESOURCE}.{function}": [watch, *SALTS_OWN, unknown]}})
    before = len(cluster.runs("keywords"))
    refused = next(result for result in cluster.apply("refused") if result["__id__"] == name)
    assert (refused["result"], refused["changes"]) == (False, {})
    assert said in refused["comment"]
    assert len(cluster.runs("keywords")) == before
    if function == "present":
        cluster.write_sls("taken", {"trigger": trigger, name: {f"{RESOURCE}.present": [watch, *SALTS_OWN]}})
        assert outcomes(cluster.apply("taken")) == [True, True]
