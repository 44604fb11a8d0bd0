"""What every reader of states must do. Each reader's tests are this class plus what is its own.

A fixture `bench` has the `reader`, and `store(environment, component, content)`, which puts a state where it is.
"""

from __future__ import annotations

import json

import pytest

from saltform.errors import StateError
from saltform.tfstate import Head, Output, State, States


def state(serial=3, value="x", padding=0):
    """As terraform writes it: indented, its keys in its order."""
    return json.dumps(
        {
            "version": 4,
            "terraform_version": "1.11.4",
            "serial": serial,
            "lineage": "l-1",
            "outputs": {
                "o": {"value": value, "type": "string"},
                "s": {"value": "p", "type": "string", "sensitive": True},
            },
            "resources": [
                {
                    "mode": "managed",
                    "type": "t",
                    "name": "n",
                    "provider": 'provider["terraform.io/builtin/terraform"]',
                    "instances": [{"attributes": {"x": "y" * padding}}],
                }
            ],
            "check_results": None,
        },
        indent=2,
    ).encode()


class StatesContract:
    def test_every_reader_can_be_asked_everything(self, bench):
        """Whoever reads states doesn't ask first what kind of reader it has."""
        bench.store("staging", "net", state())
        reader: States = bench.reader
        assert isinstance(reader, States)
        reader.recall("staging", "old", "a mark", State(1, "l-0", "", {}, []))
        found = reader.read_many("staging", ["net"]).get("net") or reader.read("staging", "net")
        assert found.head == Head(3, "l-1")
        reader.invalidate("staging", "net")
        assert getattr(reader.last("staging", "net"), "state", found) == found
        assert reader.keeps_versions() in (None, True, False)

    def test_a_component_that_was_never_applied_has_no_state(self, bench):
        assert bench.reader.head("staging", "net") is None
        assert bench.reader.read("staging", "net") is None
        assert bench.reader.outputs("staging", "net") == {}

    def test_head_outputs_and_state_are_read(self, bench):
        bench.store("staging", "net", state())
        assert bench.reader.head("staging", "net") == Head(3, "l-1")
        assert bench.reader.read("staging", "net").resources == ["t.n"]
        assert bench.reader.outputs("staging", "net") == {
            "o": Output("x", False, "string"),
            "s": Output("p", True, "string"),
        }

    def test_a_new_serial_is_seen_at_once(self, bench):
        bench.store("staging", "net", state(3))
        bench.reader.head("staging", "net")
        bench.store("staging", "net", state(4))
        assert bench.reader.head("staging", "net").serial == 4

    def test_components_and_environments_are_kept_apart(self, bench):
        bench.store("staging", "net", state(1))
        bench.store("production", "net", state(2))
        bench.store("staging", "vault", state(3))
        heads = [
            bench.reader.head(*key).serial
            for key in (("staging", "net"), ("production", "net"), ("staging", "vault"))
        ]
        assert heads == [1, 2, 3]

    @pytest.mark.parametrize(
        "broken", [b"{", b"nonsense", state()[:300], state()[:-40], state().replace(b"4", b"5", 1)]
    )
    def test_a_broken_state_is_an_error_and_never_no_state(self, bench, broken):
        bench.store("staging", "net", broken)
        for question in (bench.reader.head, bench.reader.read, bench.reader.outputs):
            with pytest.raises(StateError):
                question("staging", "net")

    def test_keys_in_another_order_are_read_all_the_same(self, bench):
        bench.store("staging", "net", json.dumps(json.loads(state()), sort_keys=True).encode())
        assert bench.reader.head("staging", "net") == Head(3, "l-1")
