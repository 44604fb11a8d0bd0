"""The runner's boundary: whatever happens, a return with an exit code, said in both of Salt's places."""

from __future__ import annotations

import pytest

from saltform.bridge import runner


@pytest.mark.parametrize("signalled", [SystemExit(0), KeyboardInterrupt()])
def test_a_signal_outside_of_a_run_is_cancelled_and_not_success(monkeypatch, signalled):
    def interrupted(_dunders, _verb):
        raise signalled

    monkeypatch.setattr(runner, "runner_services", interrupted)
    context = {}
    returned = runner.runner_call({"__context__": context}, "preflight", {}, "staging", None)
    assert (returned["retcode"], returned["success"], context["retcode"]) == (130, False, 130)
    assert "cancelled" in returned["error"]["summary"]


def test_an_argument_that_a_verb_does_not_have_is_named():
    context = {}
    returned = runner.runner_call({"__context__": context}, "plan", {"enviroment": "x", "__pub_jid": "1"}, "staging")
    assert context["retcode"] == returned["retcode"] == 1
    assert "enviroment" in returned["error"]["summary"]


@pytest.mark.parametrize("first", [["staging"], {"a": 1}])
def test_a_list_or_a_mapping_is_no_name(first):
    returned = runner.runner_call({"__context__": {}}, "history", {}, first, None)
    assert (returned["retcode"], returned["error"]["type"]) == (1, "SaltformError")
    assert repr(first) in returned["error"]["detail"]


@pytest.mark.parametrize(
    ("opts", "author", "origin"),
    [
        ({"fun": "infrastructure.approve", "__cli": "salt-run"}, "root", "shell"),
        ({"__cli": "salt-master"}, "root", "master"),
        # What a master makes of a minion's publish.runner, which peer_run allows: it says root, and is not.
        ({"fun": "infrastructure.approve", "__cli": "salt-master", "id": "web-1"}, "minion web-1", "minion web-1"),
        ({"fun": "infrastructure.approve", "id": "web-1"}, "minion web-1", "minion web-1"),
    ],
)
def test_only_salt_run_itself_is_the_shell(monkeypatch, opts, author, origin):
    monkeypatch.setattr(runner, "runner_pillar", lambda *_: {"infrastructure": {}})
    given = {"id": "master1", "sock_dir": "", **opts}
    services = runner.runner_services({"__opts__": given, "__user__": "root", "__jid__": "1"}, "plan")
    assert (services.author, services.origin) == (author, origin)
