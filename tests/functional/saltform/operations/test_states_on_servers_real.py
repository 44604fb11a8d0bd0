"""States on a server as pillar: copied by conditional reads, served from this disk, with their age."""

from __future__ import annotations

import dataclasses

import pytest

from saltform.config import Backend
from saltform.errors import StateError
from saltform.operations import sync_states as syncing
from saltform.pillar_outputs import outputs_for
from saltform.tfstate.s3 import S3States, default_key
from tests.support.seaweedfs import s3_server

KEYS = ("AKIASTATEACCOUNT0001", "secret/of+the/state+account/0123456789")
MINIONS = ("web-1", "vault-1", "nobody")


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    with s3_server(tmp_path_factory.mktemp("s3"), *KEYS, "states") as client:
        yield client


class OnS3:
    """The world's states, moved to a bucket."""

    def __init__(self, world, client, monkeypatch):
        self.world, self.client = world, client
        self.reader = S3States(client, "states")
        world.components["networking"] |= {"targets": "web*", "outputs": {"password": {"targets": ["vault-1"]}}}
        self.store()
        for path in (world.state_dir / "states").rglob("terraform.tfstate*"):
            path.unlink()
        opened = syncing.Opened

        def open_on_s3(services, name):
            made = opened(services, name)
            components = {
                key: dataclasses.replace(item, backend=Backend("s3"))
                for key, item in made.environment.components.items()
            }
            made.environment = dataclasses.replace(made.environment, components=components)
            made.states = self.reader
            return made

        monkeypatch.setattr(syncing, "Opened", open_on_s3)

    def store(self, old=b"", new=b""):
        for name in ("networking", "consul"):
            path = self.world.state_dir / "states" / "staging" / name / "terraform.tfstate"
            key = default_key("staging", name)
            content = (
                path.read_bytes()
                if path.exists()
                else self.client.get_object(Bucket="states", Key=key)["Body"].read()
            )
            self.client.put_object(Bucket="states", Key=key, Body=content.replace(old, new) if old else content)

    def sync(self):
        return self.world.call("sync_states", "staging")

    def pillar(self, minion):
        options = {"saltform": {"state_dir": str(self.world.state_dir)}}
        return outputs_for(minion, options, lambda _: False)


@pytest.fixture
def on_s3(staging, s3, monkeypatch):
    return OnS3(staging, s3, monkeypatch)


def test_each_minion_sees_what_is_for_it_and_nothing_else(on_s3):
    assert on_s3.sync()["retcode"] == 0
    seen = {minion: on_s3.pillar(minion).get("staging", {}).get("networking", {}) for minion in MINIONS}
    assert sorted(seen["web-1"]) == ["id", "name"]
    assert seen["vault-1"] == {"password": "hush-hush-hush"}
    assert seen["nobody"] == {}
    copies = on_s3.world.state_dir / "copies" / "staging"
    assert "hush-hush-hush" not in (copies / "consul" / "terraform.tfstate").read_text()
    assert (copies / "networking" / "terraform.tfstate").stat().st_mode & 0o777 == 0o600


def test_a_change_on_the_server_reaches_the_pillar_with_the_next_sync(on_s3):
    on_s3.sync()
    state = on_s3.reader.read("staging", "networking")
    on_s3.store(f'"serial": {state.serial}'.encode(), f'"serial": {state.serial + 1}'.encode())
    on_s3.store(b'"value": "net"', b'"value": "renamed"')
    returned = on_s3.sync()
    assert returned["components"]["networking"]["outputs"] == ["name"]
    assert on_s3.pillar("web-1")["staging"]["networking"]["name"] == "renamed"


def test_a_server_that_is_away_leaves_the_last_values_with_their_age(on_s3, monkeypatch):
    on_s3.sync()
    before = on_s3.pillar("web-1")

    def away(*_):
        raise StateError("the state can't be read", "nobody answers")

    with monkeypatch.context() as patch:
        patch.setattr(on_s3.reader, "fetch", away)
        returned = on_s3.sync()
    assert returned["retcode"] == 1
    after = on_s3.pillar("web-1")
    status = after.pop("_status")["staging"]["networking"]
    assert after == before
    assert status["problem"] == "the state can't be read"
    assert status["as_of"].startswith("20")
    assert on_s3.pillar("nobody") == {}
    on_s3.sync()
    assert "_status" not in on_s3.pillar("web-1")
