"""The ext_pillar's engine: who sees what, what is kept, and what happens when something can't be read."""

from __future__ import annotations

import itertools
import json
import os
import socket
from pathlib import Path

import pytest

from saltform import pillar_outputs
from saltform.pillar_outputs import outputs_for

INDEX = {
    "networking": {"targets": "web*", "outputs": {}},
    "vault": {"targets": ["vault-1"], "outputs": {"root_token": ["vault-1"], "address": ["web-1", "audit"]}},
    "consul": {"targets": "G@role:consul or db*", "outputs": {}},
    "hidden": {"targets": "", "outputs": {}},
}
STATES = {
    "networking": {"vpc_id": ("vpc-1", False), "key": ("sesame-networking", True)},
    "vault": {
        "address": ("10.0.0.1", False),
        "port": (8200, False),
        "root_token": ("sesame-root", True),
        "unseal": ("sesame-unseal", True),
    },
    "consul": {"nodes": (["a", "b"], False)},
    "hidden": {"nobody": ("sees this", False)},
}


class Place:
    """A state_dir with an index and states."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.options = {"saltform": {"state_dir": str(folder)}}
        self.asked: list[str] = []
        tree = {name: entry | {"state": str(self.state(name))} for name, entry in INDEX.items()}
        self.index.parent.mkdir(parents=True)
        self.index.write_text(json.dumps(tree))
        for name, outputs in STATES.items():
            self.write(name, outputs)

    @property
    def index(self) -> Path:
        return self.folder / "index" / "staging.json"

    def state(self, name: str) -> Path:
        return self.folder / "states" / "staging" / name / "terraform.tfstate"

    def write(self, name: str, outputs: dict[str, tuple[object, bool]]) -> None:
        state = {
            "version": 4,
            "terraform_version": "1.11.4",
            "serial": 1,
            "lineage": "l",
            "outputs": {key: {"value": value, "sensitive": hidden} for key, (value, hidden) in outputs.items()},
            "resources": [],
        }
        self.state(name).parent.mkdir(parents=True, exist_ok=True)
        self.state(name).write_text(json.dumps(state))

    def seen_by(self, minion: str) -> dict[str, object]:
        def match(expression: str) -> bool:
            self.asked.append(expression)
            return minion.startswith("db")

        return outputs_for(minion, self.options, match)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


EXPECTED = {
    "web-1": {"networking": {"vpc_id": "vpc-1"}, "vault": {"address": "10.0.0.1"}},
    "web-2": {"networking": {"vpc_id": "vpc-1"}},
    "vault-1": {"vault": {"port": 8200, "root_token": "sesame-root"}},
    "vault-10": {},
    "vault": {},
    "db-7": {"consul": {"nodes": ["a", "b"]}},
    "audit": {"vault": {"address": "10.0.0.1"}},
    "../../etc/passwd": {},
    "*": {},
    "": {},
}


@pytest.mark.parametrize("minion", EXPECTED)
def test_every_minion_sees_exactly_what_is_meant_for_it(place: Place, minion: str) -> None:
    for _attempt in ("read from the states", "read from what was kept"):
        assert place.seen_by(minion) == ({"staging": EXPECTED[minion]} if EXPECTED[minion] else {})


def test_what_one_minion_asked_for_never_reaches_the_next(place: Place) -> None:
    for first, second in itertools.permutations(EXPECTED, 2):
        place.seen_by(first)
        assert place.seen_by(second) == ({"staging": EXPECTED[second]} if EXPECTED[second] else {})


def test_no_sensitive_value_is_kept_on_disk(place: Place) -> None:
    place.seen_by("vault-1")
    place.seen_by("web-1")
    kept = (place.folder / "cache" / "pillar" / "staging.json").read_text()
    assert "vpc-1" in kept
    assert "sesame" not in kept


def test_a_changed_state_is_seen_at_once(place: Place) -> None:
    place.seen_by("web-1")
    place.write("networking", {"vpc_id": ("vpc-2", False)})
    assert place.seen_by("web-2") == {"staging": {"networking": {"vpc_id": "vpc-2"}}}


def test_an_unchanged_state_is_not_read_again(place: Place) -> None:
    place.seen_by("web-2")
    state = place.state("networking")
    before = state.stat()
    state.write_bytes(b"x" * before.st_size)  # the same size, and below the same time: nobody would look inside
    os.utime(state, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert place.seen_by("web-2") == {"staging": {"networking": {"vpc_id": "vpc-1"}}}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": 9}', b"\xff\xfe"], ids=repr)
def test_a_bad_state_is_answered_with_the_last_good_outputs(place: Place, content: bytes) -> None:
    place.seen_by("web-2")
    place.state("networking").write_bytes(content)
    found = place.seen_by("web-2")
    if content:
        assert found["staging"] == {"networking": {"vpc_id": "vpc-1"}}
        assert set(found["_status"]["staging"]["networking"]) == {"problem", "as_of"}
    else:  # what a terraform leaves that was killed before it stored anything
        assert found == {}


def test_the_status_goes_away_when_the_state_is_mended(place: Place) -> None:
    place.seen_by("web-2")
    good = place.state("networking").read_bytes()
    stat = place.state("networking").stat()
    place.state("networking").write_bytes(b"{")
    assert "_status" in place.seen_by("web-2")
    place.state("networking").write_bytes(good)
    os.utime(place.state("networking"), ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert "_status" not in place.seen_by("web-2")


def test_a_bad_state_that_was_never_good_is_only_named(place: Place) -> None:
    place.state("networking").write_bytes(b"{")
    found = place.seen_by("web-2")
    assert found == {"_status": {"staging": {"networking": {"problem": "the state is malformed"}}}}


def test_troubles_are_told_only_to_those_who_see_the_component(place: Place) -> None:
    place.state("networking").write_bytes(b"{")
    assert place.seen_by("db-7") == {"staging": {"consul": {"nodes": ["a", "b"]}}}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"networking": 3}', b'{"a": {"state": "x"}}'], ids=repr)
def test_a_bad_index_is_answered_with_the_last_good_one(place: Place, content: bytes) -> None:
    before = place.seen_by("web-1")
    place.index.write_bytes(content)
    found = place.seen_by("web-1")
    assert found["staging"] == before["staging"]
    assert "_index" in found["_status"]["staging"]


def test_ids_that_are_not_a_list_name_nobody(place: Place) -> None:
    tree = json.loads(place.index.read_text())
    tree["vault"]["outputs"]["root_token"] = "vault-1"
    place.index.write_text(json.dumps(tree))
    assert place.seen_by("vault") == {}


def test_a_destroyed_component_has_no_outputs_left(place: Place) -> None:
    place.seen_by("web-2")
    place.state("networking").unlink()
    assert place.seen_by("web-2") == {}


def test_a_state_that_is_lost_is_answered_with_what_it_said_last(place: Place) -> None:
    tree = json.loads(place.index.read_text())
    tree["networking"]["applied"] = True
    place.index.write_text(json.dumps(tree))
    before = place.seen_by("web-2")
    place.state("networking").unlink()
    found = place.seen_by("web-2")
    assert found.pop("_status")["staging"]["networking"]["problem"] == "the state is gone"
    assert found == before != {}


def test_a_target_that_does_not_parse_matches_nobody(place: Place) -> None:
    def match(_expression: str) -> bool:
        raise ValueError("no such matcher")

    assert outputs_for("db-7", place.options, match) == {}


def test_plain_globs_are_matched_without_asking_salt(place: Place) -> None:
    place.seen_by("web-1")
    assert place.asked == ["G@role:consul or db*"]


@pytest.mark.parametrize("options", [{}, {"saltform": {"state_dir": "relative"}}, {"saltform": 3}], ids=repr)
def test_bad_or_missing_settings_give_nothing(options: dict[str, object]) -> None:
    assert outputs_for("web-1", options, lambda _: True) == {}


def test_a_full_or_read_only_cache_only_makes_it_slower(place: Place) -> None:
    (place.folder / "cache").write_text("a file in the way")
    assert place.seen_by("web-2") == {"staging": {"networking": {"vpc_id": "vpc-1"}}}


def test_one_output_may_be_for_those_that_the_masters_pillar_names(place: Place) -> None:
    tree = json.loads(place.index.read_text())
    tree["vault"]["outputs"]["unseal"] = "I@vault:role:server"
    place.index.write_text(json.dumps(tree))
    assert place.seen_by("db-1")["staging"]["vault"] == {"unseal": "sesame-unseal"}  # type: ignore[index]
    assert "vault" not in place.seen_by("web-2")["staging"]  # type: ignore[operator]
    assert "sesame" not in (place.folder / "cache" / "pillar" / "staging.json").read_text()


def test_ten_megabytes_of_outputs_are_served_to_those_they_are_for_and_to_nobody_else(place: Place) -> None:
    large = "x" * 10_000_000
    place.write("networking", {"vpc_id": (large, False)})
    assert place.seen_by("web-2") == {"staging": {"networking": {"vpc_id": large}}}
    assert place.seen_by("db-7") == {"staging": EXPECTED["db-7"]}


@pytest.mark.parametrize("jump", [10**9, -(10**9)], ids=["ahead", "back"])
def test_a_clock_that_jumped_hides_no_change(place: Place, jump: int) -> None:
    place.seen_by("web-2")
    place.write("networking", {"vpc_id": ("vpc-2", False)})
    moment = place.state("networking").stat().st_mtime + jump
    os.utime(place.state("networking"), (moment, moment))
    assert place.seen_by("web-2") == {"staging": {"networking": {"vpc_id": "vpc-2"}}}
    place.write("networking", {"vpc_id": ("vpc-3", False)})
    assert place.seen_by("web-2") == {"staging": {"networking": {"vpc_id": "vpc-3"}}}


def test_an_output_whose_type_changed_is_served_as_it_is_now(place: Place) -> None:
    place.seen_by("web-2")
    place.write("networking", {"vpc_id": ({"a": [1]}, False)})
    assert place.seen_by("web-2") == {"staging": {"networking": {"vpc_id": {"a": [1]}}}}


@pytest.mark.parametrize("minion", ["../web-1", "web-1/../../x", "web\x00", "-rf", "web-1\n"])
def test_an_id_with_tricks_writes_nothing_of_its_own(place: Place, minion: str) -> None:
    before = {path for path in place.folder.rglob("*") if path.is_file()}
    place.seen_by(minion)
    made = {path for path in place.folder.rglob("*") if path.is_file()} - before
    assert made <= {place.folder / "cache" / "pillar" / "staging.json"}
    assert not any("sesame" in path.read_text() for path in made)


def test_a_thousand_pillars_ask_nobody_and_read_each_state_once_for_each_change(place, monkeypatch):
    """Of a state on a server they read the copy that runs and `sync_states` leave: those alone ask the server."""
    read, reads = pillar_outputs.read, []
    monkeypatch.setattr(pillar_outputs, "read", lambda path: reads.append(path.parent.name) or read(path))
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("a pillar asked a server"))

    def compile_all():
        reads.clear()
        for number in range(1000):
            assert outputs_for(f"web-{number}", place.options, lambda _: False)["staging"]["networking"]["vpc_id"]
        return sorted(reads)

    assert compile_all() == ["networking", "vault"]
    assert compile_all() == []
    place.write("networking", {"vpc_id": ("vpc-2", False)})
    assert compile_all() == ["networking"]
