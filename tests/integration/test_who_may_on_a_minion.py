"""On a minion, neither what a call brings along nor how a job runs decides who may."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.cluster import HOME, ROOT, TIMEOUT, Cluster, wait_for

PRESENT = "terraform_resource.present"


@pytest.fixture
def owned(cluster: Cluster) -> Iterator[Cluster]:
    """States on an environment in which vic is a viewer and dora a deployer, and that has nothing yet."""
    cluster.write_sls("owned", {"owned/base": {PRESENT: []}})
    cluster.write_sls("owned-parallel", {"owned/base": {PRESENT: [{"parallel": True}]}})
    cluster.write_sls("guarded", {"guarded/base": {PRESENT: []}})
    yield cluster
    cluster.ask("terraform.destroy", "owned/base", yes=True)


@pytest.fixture
def both(owned: Cluster) -> Iterator[Callable[[], Any]]:
    """A highstate of two: the user `schedule` may do the second and not the first. Answers with the run it made."""
    owned.write_sls("both", {"owned/base": {PRESENT: [{"order": 1}]}, "scheduled/base": {PRESENT: [{"order": 2}]}})
    before = {run["id"] for run in owned.runs("scheduled")}
    yield lambda: next((run for run in owned.runs("scheduled") if run["id"] not in before and run["ended"]), None)
    owned.ask("terraform.destroy", "scheduled/base", yes=True)


def results(returned: Any) -> list[dict[str, Any]]:
    assert isinstance(returned, dict), returned
    return sorted(returned.values(), key=lambda item: item["__run_num__"])


def exists(cluster: Cluster, environment: str = "owned") -> bool:
    state = cluster.layout.states(environment, "base") / "terraform.tfstate"
    return state.exists() and bool(json.loads(state.read_text())["resources"])


def refused(cluster: Cluster, returned: Any, why: str = "vic may not present in owned") -> None:
    (result,) = results(returned)
    assert why in result["comment"]
    assert (result["result"], result["changes"]) == (False, {})
    assert not exists(cluster)


@pytest.mark.parametrize(
    "pillar",
    [{"roles": None}, {"roles": {"admin": {"*": ["vic"]}}}, {"groups": {"approvers": ["vic"]}}],
    ids=["no roles", "a role for himself", "a group for himself"],
)
def test_a_viewer_brings_no_roles_in_the_pillar_of_his_call(owned: Cluster, pillar: Any) -> None:
    refused(owned, owned.ask_as("vic", "state.apply", "owned", pillar={"infrastructure": pillar}))


def test_a_deployer_brings_no_approval_and_no_variables_in_the_pillar_of_her_call(owned: Cluster) -> None:
    mine = {"approval": {"when": "never"}, "components": {"base": {"variables": {"name": "mine"}}}}
    pillar = {"infrastructure": {"environments": {"owned": mine, "guarded": mine}}}
    (result,) = results(owned.ask_as("dora", "state.apply", "guarded", pillar=pillar))
    assert result["result"] is False, result
    assert not exists(owned, "guarded")
    (result,) = results(owned.ask_as("dora", "state.apply", "owned", pillar=pillar))
    assert result["result"] is True, result
    assert owned.ask("terraform.output", "owned/base", "name") == ("base", 0)


@pytest.mark.parametrize("call", [{"pillarenv": "lax"}, {"saltenv": "lax"}, {"saltenv": "lax", "pillarenv": "lax"}])
def test_a_viewer_chooses_no_pillar_environment(owned: Cluster, call: dict[str, str]) -> None:
    refused(owned, owned.ask_as("vic", "state.apply", "owned", **call))


def test_a_viewer_chooses_no_pillar_environment_by_a_function_before_it(owned: Cluster) -> None:
    """Several functions in one job run in one process, and Salt's own RemotePillar writes into its options."""
    before = [{"__kwarg__": True, "pillarenv": "lax"}]
    functions = ["pillar.items", "terraform.apply"]
    returned = owned.ask_as("vic", functions, before, ["owned/base"])
    assert "vic may not apply in owned" in returned["terraform.apply"], returned
    assert not exists(owned)


def test_other_options_than_the_minions_are_refused(owned: Cluster, tmp_path: Path) -> None:
    (tmp_path / "included.yml").write_text(yaml.safe_dump({"conf_file": str(owned.minion_config / "minion")}))
    roots = {"pillar_roots": {"base": [str(owned.lax)]}, "file_roots": {"base": [str(owned.sls), str(ROOT / "salt")]}}
    mine = {**roots, "file_client": "local", "cachedir": str(tmp_path)}
    for number, more in enumerate(({}, {"include": "included.yml"})):
        path = tmp_path / f"mine-{number}.yml"
        path.write_text(yaml.safe_dump({**mine, **more}))
        (result,) = results(owned.ask_as("vic", "state.apply", "owned", localconfig=str(path)))
        assert result["result"] is False, result
        assert "localconfig" in result["comment"] or "vic may not" in result["comment"]
        assert not exists(owned)


def test_a_state_in_a_process_of_its_own_has_the_jobs_author(owned: Cluster) -> None:
    refused(owned, owned.ask_as("vic", "state.apply", "owned-parallel"))
    (result,) = results(owned.ask_as("dora", "state.apply", "owned-parallel"))
    assert result["result"] is True, result
    assert owned.newest_run("owned")["author"] == "dora"


def test_a_call_through_peer_is_the_minion_that_made_it(owned: Cluster) -> None:
    # Salt gives such a job five seconds and returns what has come back by then; on a busy machine that is nothing.
    words = ("publish.publish", HOME, "terraform.apply", "owned/base")
    said = wait_for(lambda: owned.call(*words).tree["local"])
    assert f"minion {HOME} may not apply in owned" in said[HOME], said
    assert not exists(owned)


def test_a_user_is_no_minion_by_saying_so(owned: Cluster) -> None:
    said = owned.ask_as("vic", "terraform.state_list", "owned/base", job={"id": "web-1"})
    assert "sent by vic" in said, said


def test_who_became_root_with_sudo_needs_a_role_under_the_full_name(owned: Cluster) -> None:
    for words in (("salt", HOME), ("salt-call",)):
        said = owned.run(*words, "state.apply", "owned", "--out=json", env={"SUDO_USER": "jo"})
        assert "sudo_jo may not present in owned" in said.stdout, said
    assert not exists(owned)


def test_the_minions_schedule_is_the_user_schedule(owned: Cluster, both: Callable[[], Any]) -> None:
    words = ("function=state.apply", "job_args=['both']", "seconds=3600", "run_on_start=False")
    assert owned.run("salt", HOME, "schedule.add", "both", *words).exit_code == 0
    assert owned.run("salt", HOME, "schedule.run_job", "both", "force=True").exit_code == 0
    try:
        run = wait_for(both)
    finally:
        owned.run("salt", HOME, "schedule.delete", "both")
    assert (run["author"], run["status"]) == ("schedule", "done")
    assert not exists(owned)


def test_start_up_states_are_the_user_schedule(owned: Cluster, both: Callable[[], Any], master: Any) -> None:
    minion = f"starts.{HOME}"
    at_start = {**owned.settings(), "startup_states": "sls", "sls_list": ["both"]}
    with master.salt_minion_daemon(minion, overrides=at_start, start_timeout=180).started():
        run = wait_for(both)
    assert (run["author"], run["status"]) == ("schedule", "done")
    assert not exists(owned)


def test_a_minion_whose_jobs_share_a_process_refuses(owned: Cluster, master: Any) -> None:
    minion = f"threads.{HOME}"
    shared = {**owned.settings(), "multiprocessing": False}
    daemon = master.salt_minion_daemon(minion, overrides=shared, start_timeout=180)
    with daemon.started():
        owned.run("salt", "--async", minion, "terraform.state_list", "owned/base")
        # Not every return of such a minion arrives: its threads close each other's connection to the master.
        log = Path(daemon.config["log_file"])
        wait_for(lambda: "multiprocessing: False is refused here" in log.read_text())


def test_a_state_that_waited_in_the_queue_is_not_roots(owned: Cluster, tmp_path: Path) -> None:
    """Salt 3008 replays it from a file, in which a minion that sent it is root. Before 3008 the call itself waits."""
    asleep, awake = tmp_path / "asleep", tmp_path / "awake"
    owned.write_sls("nap", {f"touch {asleep}; until [ -e {awake} ]; do sleep 0.1; done": {"cmd.run": []}})
    with owned.running("salt", HOME, "state.apply", "nap") as nap:
        wait_for(asleep.exists)
        words = owned.command("salt-call", "publish.publish", HOME, "state.apply", '["owned", "queue=True"]')
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as queued:
            with contextlib.suppress(subprocess.TimeoutExpired):
                queued.wait(12)
            awake.touch()
        nap.communicate(timeout=TIMEOUT)
    time.sleep(2)  # the minion looks at its queue three times a second
    wait_for(lambda: "state.apply" not in owned.call("saltutil.running").stdout)
    assert not exists(owned)


def compiled(cluster: Cluster) -> int:
    return len(cluster.compilations.read_text().splitlines())


@pytest.mark.parametrize("parallel", [False, True])
def test_the_pillar_is_compiled_once_for_a_job_however_many_states_it_has(cluster: Cluster, parallel: bool) -> None:
    count = 50 if not parallel else 6
    state = {PRESENT: [{"name": "counted/base"}, {"parallel": parallel}]}
    cluster.write_sls("none", {"nothing": {"test.nop": []}})
    cluster.write_sls("many", {f"state {number}": state for number in range(count)})
    assert cluster.ask("terraform.apply", "counted/base")[1] == 0
    begun = compiled(cluster)
    cluster.apply("none")
    once = compiled(cluster) - begun  # which Salt does itself, for any state
    done = cluster.apply("many")
    assert [item["result"] for item in done] == [True] * count
    assert compiled(cluster) - begun == once + 2 * once
