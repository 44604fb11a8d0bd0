"""The runner through salt-api: strings as arguments, the author, job ids, nothing to forge."""

from __future__ import annotations

import json
import os
import urllib.parse
import urllib.request
from typing import Any

from tests.support.cluster import API_SECRET, TIMEOUT, Cluster, wait_for

WHO = {"eauth": "sharedsecret", "username": "alice", "password": API_SECRET}


def ask(cluster: Cluster, **low: Any) -> Any:
    return _post(cluster, "application/json", json.dumps([{**WHO, **low}]).encode())


def ask_as_form(cluster: Cluster, **low: str) -> Any:
    return _post(cluster, "application/x-www-form-urlencoded", urllib.parse.urlencode({**WHO, **low}).encode())


def _post(cluster: Cluster, kind: str, body: bytes) -> Any:
    url = f"http://127.0.0.1:{cluster.api_port}/run"
    request = urllib.request.Request(url, body, {"Content-Type": kind, "Accept": "application/json"})
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
        return json.load(response)["return"][0]


def test_a_form_full_of_strings_deploys(api: Cluster) -> None:
    fields = {"client": "runner", "fun": "infrastructure.deploy", "environment": "api"}
    returned = ask_as_form(api, **fields, components="base", only="True", refresh="false", parallelism="2")
    assert (returned["retcode"], returned["success"]) == (0, True), returned
    assert list(returned["steps"]) == ["base"]
    assert returned["outputs"]["base"]["name"] == "base"
    assert returned["outputs"]["base"]["password"] == "(sensitive)"
    assert api.newest_run("api")["author"] == "alice"


def test_a_failure_says_so_in_the_return(api: Cluster) -> None:
    returned = ask(api, client="runner", fun="infrastructure.deploy", environment="nowhere")
    assert (returned["retcode"], returned["success"]) == (1, False)
    assert "unknown environment" in returned["error"]["summary"]


def test_the_author_can_not_be_forged(api: Cluster) -> None:
    forged = {"__pub_user": "mallory", "__user__": "mallory", "__jid__": "7", "__pub_jid": "7"}
    returned = ask(api, client="runner", fun="infrastructure.plan", kwarg={"environment": "api", **forged})
    assert returned["run"] == api.newest_run("api")["id"] != "7"
    assert api.newest_run("api")["author"] == "alice"


def test_a_keyword_that_does_not_exist_is_refused(api: Cluster) -> None:
    returned = ask(api, client="runner", fun="infrastructure.plan", kwarg={"environment": "api", "user": "mallory"})
    assert (returned["retcode"], returned["error"]["summary"]) == (1, "bad argument 'user'")


def test_an_asynchronous_run_has_the_id_of_its_job(api: Cluster) -> None:
    jid = ask(api, client="runner_async", fun="infrastructure.deploy", environment="async")["jid"]

    def ended() -> bool:
        shown = ask(api, client="runner", fun="infrastructure.show", run=jid)
        return bool(shown["success"] and shown["run"]["status"] == "done")

    wait_for(ended)
    run = api.newest_run("async")
    assert (run["id"], run["author"]) == (jid, "alice")


def test_nobody_is_shown_the_progress_of_a_run_in_the_background(api: Cluster, master: Any) -> None:
    """The lines would end up in the master's stderr."""
    returned = ask(api, client="runner", fun="infrastructure.deploy", environment="quiet")
    assert returned["steps"]["app"]["status"] == "applied"
    said = os.pread(master.impl._terminal_stderr.fileno(), 1 << 20, 0).decode(errors="replace")
    assert "app applied" not in said
