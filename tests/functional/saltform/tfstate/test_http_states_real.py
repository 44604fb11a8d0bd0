"""States behind HTTP: the contract on a server that speaks the protocol, and what it refuses."""

from __future__ import annotations

import pytest

from saltform.errors import StateError
from saltform.tfstate.http import HttpStates
from tests.support.http_states import http_states
from tests.support.states_contract import StatesContract, state

LOGIN = ("states", "password-of-the-states")


class Bench:
    def __init__(self, server):
        self.server = server
        self.reader = HttpStates(self.address, lambda: LOGIN)

    def address(self, environment, component):
        return f"{self.server.address}/{environment}/{component}"

    def store(self, environment, component, content):
        self.server.states[f"/{environment}/{component}"] = content


@pytest.fixture
def bench():
    with http_states(*LOGIN) as server:
        yield Bench(server)


class TestHttpStates(StatesContract):
    """The contract."""


def test_each_of_many_is_asked_for_and_one_that_is_malformed_is_its_error(bench):
    bench.store("staging", "a", state(1))
    bench.store("staging", "b", b"nonsense")
    found = bench.reader.read_many("staging", ["a", "b", "c"])
    assert (found["a"].serial, found["c"]) == (1, None)
    assert isinstance(found["b"], StateError)


def test_a_wrong_login_and_a_server_that_is_away_are_said_with_a_fix(bench):
    with pytest.raises(StateError, match="401") as refused:
        HttpStates(bench.address, lambda: ("states", "wrong")).read("staging", "net")
    assert "backend:credentials" in refused.value.fix
    with pytest.raises(StateError, match="ConnectionError") as away:
        HttpStates(lambda *_: "http://127.0.0.1:1/net", lambda: None).read("staging", "net")
    assert away.value.fix
