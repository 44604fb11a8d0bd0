"""Deploys as steps of an orchestration: what requires one starts only if it was good."""

from __future__ import annotations

import json

import pytest

from tests.support.cluster import Cluster, Ended
from tests.support.documented import command


def orchestrate(cluster: Cluster, sls: str, **pillar: object) -> Ended:
    words = ("salt-run", "state.orchestrate", sls, f"pillar={json.dumps(pillar)}", "--out=json")
    return cluster.run(*words)


def test_a_good_deploy_is_a_good_orchestration(cluster: Cluster) -> None:
    ended = orchestrate(cluster, "orchestrate.deploy", environment="orchestrated")
    assert ended.exit_code == 0, ended
    assert cluster.newest_run("orchestrated")["status"] == "done"


def test_a_failed_deploy_fails_the_orchestration(cluster: Cluster) -> None:
    ended = orchestrate(cluster, "orchestrate.deploy", environment="broken")
    assert ended.exit_code != 0
    assert cluster.newest_run("broken")["status"] == "failed"


def test_steps_see_each_others_results(cluster: Cluster) -> None:
    """Changes found are no failure, a failure stops what requires it, and every deploy is a run of its own."""

    def step(verb: str, environment: str, needs: str = "") -> dict[str, object]:
        words: list[object] = [{"name": f"infrastructure.{verb}"}, {"environment": environment}]
        return {"salt.runner": [*words, *([{"require": [{"salt": needs}]}] if needs else [])]}

    cluster.write_sls(
        "several",
        {
            "show": step("plan", "broken"),
            "again": step("deploy", "orchestrated", "show"),
            "bad": step("deploy", "broken", "again"),
            "never": step("destroy", "orchestrated", "bad"),
        },
    )
    before = cluster.newest_run("orchestrated")["id"] if cluster.layout.runlog.exists() else ""
    ended = orchestrate(cluster, "several")
    assert ended.exit_code != 0
    (results,) = ended.tree["data"].values()
    by_name = {item["__id__"]: item for item in results.values()}
    assert [by_name[name]["result"] for name in ("show", "again", "bad", "never")] == [True, True, False, False]
    assert "__run_num__" in by_name["never"]
    assert "requisite" in by_name["never"]["comment"].lower()
    assert cluster.newest_run("orchestrated")["id"] > before


def test_a_drift_check_is_a_step_with_its_states_synced_before(cluster: Cluster) -> None:
    assert orchestrate(cluster, "orchestrate.deploy", environment="orchestrated").exit_code == 0
    ended = cluster.run(*command("docs/drift.md", "salt-run state.orchestrate", staging="orchestrated"))
    assert ended.exit_code == 0, ended
    assert cluster.newest_run("orchestrated")["verb"] == "drift"
    assert orchestrate(cluster, "orchestrate.drift").exit_code != 0


def deployed(cluster: Cluster, environment: str) -> set[str]:
    """Names of the components that have resources."""
    found = cluster.state_dir.glob(f"states/{environment}/*/terraform.tfstate")
    return {path.parent.name for path in found if '"terraform_data"' in path.read_text()}


@pytest.fixture(scope="module")
def orch(cluster: Cluster) -> Cluster:
    """A cluster whose environment `orch` is up; the last test here destroys some of it."""
    assert cluster.runner("deploy", "orch").exit_code == 0
    assert deployed(cluster, "orch") == {"one", "two", "three"}
    return cluster


@pytest.mark.parametrize(
    ("sls", "given", "said"),
    [
        ("orchestrate.destroy", {"component": "three", "yes": True}, "Did you mean 'components'?"),
        ("orchestrate.drift", {"evry": "1h"}, "Did you mean 'every'?"),
        ("orchestrate", {"parallel": 2}, "Did you mean 'parallelism'?"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_name_and_nothing_runs(
    orch: Cluster, sls: str, given: dict[str, object], said: str
) -> None:
    before = len(orch.runs("orch"))
    ended = orchestrate(orch, sls, **({"environment": "orch"} | given))
    assert ended.exit_code == 1, ended
    assert said in ended.stdout
    assert deployed(orch, "orch") == {"one", "two", "three"}
    assert len(orch.runs("orch")) == before


def test_the_arguments_of_the_verb_are_passed_on(orch: Cluster) -> None:
    dry = orchestrate(orch, "orchestrate.destroy", environment="orch", yes=True, dry_run=True)
    assert dry.exit_code == 0, dry
    assert deployed(orch, "orch") == {"one", "two", "three"}
    some = {"components": ["three"], "wait": "1m", "only": True, "on_error": "continue"}
    ended = orchestrate(orch, "orchestrate.destroy", environment="orch", yes=True, **some)
    assert ended.exit_code == 0, ended
    assert deployed(orch, "orch") == {"one", "two"}
    assert orchestrate(orch, "orchestrate.deploy", environment="orch", dry_run=True).exit_code == 0
    assert deployed(orch, "orch") == {"one", "two"}
