"""Everyone who listens on the master's bus sees a run happen."""

from __future__ import annotations

import os
import time
from typing import Any

from tests.support.cluster import HOME, MASTER, TIMEOUT, Cluster, wait_for


def test_every_step_of_a_run_is_an_event(cluster: Cluster) -> None:
    began = time.time()
    run = cluster.runner("deploy", "events").tree["run"]
    tags = [f"saltform/run/{run}/{name}/{status}" for name in ("base", "app") for status in ("running", "applied")]
    found = cluster.listener.wait_for_events([(MASTER, tag) for tag in tags], after_time=began, timeout=30)
    assert found.found_all_events, found.missed
    data = next(event.data for event in found.matches if event.tag.endswith("app/applied"))
    assert (data["environment"], data["component"], data["counts"]["add"]) == ("events", "app", 1)


def test_a_run_on_the_minion_is_seen_on_the_masters_bus_too(cluster: Cluster) -> None:
    began = time.time()
    returned, _code = cluster.ask("terraform.apply", "minion-events/base")
    tag = f"saltform/run/{returned['run']}/base/applied"
    found = cluster.listener.wait_for_events([(MASTER, tag)], after_time=began, timeout=30)
    assert found.found_all_events


def test_a_reactor_deploys_in_the_background_and_is_named_as_the_author(cluster: Cluster, master: Any) -> None:
    """Its calls are threads of the master: no signals there, and nobody reads its stderr."""
    cluster.write_sls("react", {"deploy": {"runner.infrastructure.deploy": [{"args": [{"environment": "reacted"}]}]}})
    cluster.ask("event.send", "test/deploy")
    run = wait_for(
        lambda: next((run for run in cluster.runs("reacted") if run["status"] != "running"), None), TIMEOUT
    )
    assert (run["status"], run["author"]) == ("done", "Reactor")
    said = os.pread(master.impl._terminal_stderr.fileno(), 1 << 20, 0).decode(errors="replace")
    assert "app applied" not in said


def test_a_minion_on_the_list_asks_for_a_deploy_and_gets_the_outputs_back(cluster: Cluster) -> None:
    began = time.time()
    cluster.ask("data.update", "saltform_request", "build-7")
    cluster.ask("event.send", "saltform/request/deploy", environment="asked", components="base", request="build-7")
    found = cluster.listener.wait_for_events([(MASTER, f"saltform/answer/{HOME}")], after_time=began, timeout=TIMEOUT)
    [answer] = [event.data for event in found.matches]
    assert (answer["success"], answer["request"]) == (True, "build-7"), answer
    assert answer["outputs"]["base"]["name"] == "base"
    assert answer["outputs"]["base"]["password"] == "(sensitive)"
    assert cluster.newest_run("asked")["author"] == f"minion {HOME}"
