"""Everyone who listens on the master's bus sees a run happen."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster import HOME, MASTER, TIMEOUT, Cluster, wait_for
from tests.support.documented import command


def test_every_step_of_a_run_is_an_event(cluster: Cluster) -> None:
    began = time.time()
    run = cluster.runner("deploy", "events").tree["run"]
    tags = [f"saltform/run/{run}/{name}/{status}" for name in ("base", "app") for status in ("running", "applied")]
    found = cluster.listener.wait_for_events([(MASTER, tag) for tag in tags], after_time=began, timeout=TIMEOUT)
    assert found.found_all_events, found.missed
    data = next(event.data for event in found.matches if event.tag.endswith("app/applied"))
    assert (data["environment"], data["component"], data["counts"]["add"]) == ("events", "app", 1)


def test_a_run_on_the_minion_is_seen_on_the_masters_bus_too(cluster: Cluster) -> None:
    began = time.time()
    returned, _code = cluster.ask("terraform.apply", "minion-events/base")
    tag = f"saltform/run/{returned['run']}/base/applied"
    found = cluster.listener.wait_for_events([(MASTER, tag)], after_time=began, timeout=TIMEOUT)
    assert found.found_all_events


def test_a_reactor_deploys_in_the_background_and_is_named_as_the_author(cluster: Cluster, master: Any) -> None:
    """Its calls are threads of the master: no signals there, and nobody reads its stderr."""
    cluster.write_sls("react", {"deploy": {"runner.infrastructure.deploy": [{"args": [{"environment": "reacted"}]}]}})
    cluster.ask("event.send", "test/deploy")
    run = wait_for(lambda: next((run for run in cluster.runs("reacted") if run["status"] != "running"), None))
    assert (run["status"], run["author"]) == ("done", "Reactor")
    said = os.pread(master.impl._terminal_stderr.fileno(), 1 << 20, 0).decode(errors="replace")
    assert "app applied" not in said


def test_a_reactor_that_names_an_argument_wrongly_is_refused_and_the_masters_log_says_so(
    cluster: Cluster, master: Any
) -> None:
    before = len(cluster.runs("reacted"))
    args = [{"environment": "reacted"}, {"component": "base"}]
    cluster.write_sls("react", {"deploy": {"runner.infrastructure.deploy": [{"args": args}]}})
    cluster.ask("event.send", "test/deploy")
    log = Path(master.config["log_file"])
    wait_for(lambda: "deploy has no such argument. Did you mean 'components'?" in log.read_text())
    assert len(cluster.runs("reacted")) == before


@pytest.fixture(scope="module")
def answers(cluster: Cluster) -> Iterator[Callable[[str], dict[str, Any]]]:
    """The answer to a request, from the minion's own bus."""
    import salt.config
    import salt.utils.event

    options = salt.config.minion_config(str(cluster.minion_config / "minion"))
    with salt.utils.event.get_event("minion", opts=options, listen=True) as bus:

        def find(name: str) -> dict[str, Any]:
            heard: Iterator[dict[str, Any] | None] = iter(
                lambda: bus.get_event(wait=TIMEOUT, tag=f"saltform/answer/{HOME}"), None
            )
            return next(data for data in heard if data["request"] == name)

        yield find


def ask_for(cluster: Cluster, verb: str, environment: str) -> str:
    """The minion asks; the nonce of its request."""
    cluster.wait_for_slot()
    sent, _code = cluster.ask("saltform_request.send", verb, environment)
    assert sent["sent"], sent
    return str(sent["nonce"])


def test_a_minion_on_the_list_asks_for_a_deploy_and_gets_the_outputs_back(
    cluster: Cluster, answers: Callable[[str], dict[str, Any]]
) -> None:
    """At its own shell, as documented."""
    assert cluster.runner("validate", "asked").exit_code == 0  # any verb reads the list
    began = time.time()
    words = command("docs/events.md", "salt-call saltform_request.send", staging="asked", consul="base")
    nonce = cluster.run(*words, "--out=json").tree["local"]["nonce"]
    answer = answers(nonce)
    assert answer["success"], answer
    assert set(answer["outputs"]) == {"base"}
    assert answer["outputs"]["base"]["name"] == "base"
    assert answer["outputs"]["base"]["password"] == "(sensitive)"
    found = cluster.listener.wait_for_events([(MASTER, f"saltform/answer/{HOME}")], after_time=began, timeout=TIMEOUT)
    assert [event.data["run"] for event in found.matches] == [answer["run"]]
    assert cluster.newest_run("asked")["author"] == f"minion {HOME}"
    # The request is used up by its run: the same event once more starts nothing.
    cluster.ask("event.send", "saltform/request/deploy", environment="asked", components="base", nonce=nonce)
    answers(ask_for(cluster, "plan", "asked"))  # which is refused, and was sent later
    assert len(cluster.runs("asked")) == 1


def test_a_minion_asks_by_hand_as_documented(cluster: Cluster, answers: Callable[[str], dict[str, Any]]) -> None:
    """Where only a shell and Salt are."""
    cluster.wait_for_slot()
    [script] = re.findall(r"```sh\n(.*?)```", Path("docs/events.md").read_text(), re.DOTALL)
    script = script.replace("staging", "asked").replace("salt-call", " ".join(cluster.command("salt-call")))
    done = subprocess.run(
        ["sh", "-eu", "-c", script + "\necho $nonce"], capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.returncode == 0, done.stderr
    answer = answers(done.stdout.split()[-1])
    assert "consul" in str(answer["error"]), answer  # which `asked` doesn't have: the request itself was good
    assert answer["error"]["type"] == "UnknownName"


@pytest.mark.parametrize(("verb", "environment"), [("deploy", "quiet"), ("plan", "asked"), ("approve", "asked")])
def test_what_a_minion_is_not_on_the_list_for_is_refused(
    cluster: Cluster, answers: Callable[[str], dict[str, Any]], verb: str, environment: str
) -> None:
    before = len(cluster.runs(environment))
    answer = answers(ask_for(cluster, verb, environment))
    assert (answer["success"], answer["error"]["type"]) == (False, "NotAllowed"), answer
    assert len(cluster.runs(environment)) == before


def test_a_request_with_more_than_it_may_say_is_refused_and_without_it_waits_for_a_person(
    cluster: Cluster, answers: Callable[[str], dict[str, Any]]
) -> None:
    claims = {"approve": True, "approved_by": ["ann"], "author": "ann", "yes": True, "id": "someone-else"}
    nonce = "n-approved-already"
    lines = "\n".join(("deploy", "asked-guarded", "", nonce))
    cluster.ask("data.update", "saltform_request", hashlib.sha256(lines.encode()).hexdigest())
    given = {"environment": "asked-guarded", "nonce": nonce}
    cluster.wait_for_slot()
    cluster.ask("event.send", "saltform/request/deploy", **given, **claims)
    refused = answers(nonce)
    assert (refused["retcode"], refused["success"]) == (1, False), refused
    assert "is no part of a request" in refused["error"]["detail"]
    assert cluster.runs("asked-guarded") == []
    cluster.wait_for_slot()
    cluster.ask("event.send", "saltform/request/deploy", **given)
    answer = answers(nonce)
    assert (answer["retcode"], answer["success"]) == (3, False), answer
    run = cluster.newest_run("asked-guarded")
    assert (run["author"], run["status"]) == (f"minion {HOME}", "waiting")
