"""States on a server as pillar: copied by conditional reads, served from this disk, with their age."""

from __future__ import annotations

import pytest

from saltform.errors import StateError
from saltform.pillar_outputs import outputs_for
from saltform.tfstate.s3 import S3States
from tests.support.seaweedfs import s3_server

KEYS = ("AKIASTATEACCOUNT0001", "secret/of+the/state+account/0123456789")
KEY = "{}/{}/terraform.tfstate"
MINIONS = ("web-1", "vault-1", "nobody")


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    with s3_server(tmp_path_factory.mktemp("s3"), *KEYS, "states") as client:
        yield client


class OnS3:
    """An environment with its states in a bucket."""

    def __init__(self, world, client):
        self.world, self.client = world, client
        world.components = {
            "networking": {
                "module": "base",
                "variables": {"name": "net"},
                "targets": "web*",
                "outputs": {"password": {"targets": ["vault-1"]}},
            },
            "consul": {"module": "app", "inputs": {"base": "@networking.id"}},
        }
        settings = {"bucket": "states", "region": "us-east-1", "endpoint": client.meta.endpoint_url}
        keys = {"AWS_ACCESS_KEY_ID": "STATES_KEY", "AWS_SECRET_ACCESS_KEY": "STATES_SECRET"}
        backend = {"type": "s3", **settings, "credentials": {"environment": {"map": keys}}}
        world.infrastructure = {"defaults": {"backend": backend}}
        assert world.deploy()["retcode"] == 0

    def change(self, old, new):
        """What somebody else would do to the state of networking."""
        key = KEY.format("staging", "networking")
        content = self.client.get_object(Bucket="states", Key=key)["Body"].read()
        self.client.put_object(Bucket="states", Key=key, Body=content.replace(old, new))

    def sync(self):
        return self.world.call("sync_states", "staging")

    def pillar(self, minion):
        options = {"saltform": {"state_dir": str(self.world.state_dir)}}
        return outputs_for(minion, options, lambda _: False)


@pytest.fixture
def on_s3(world, s3, monkeypatch):
    monkeypatch.setenv("STATES_KEY", KEYS[0])
    monkeypatch.setenv("STATES_SECRET", KEYS[1])
    made = OnS3(world, s3)
    yield made
    for name in ("networking", "consul"):
        s3.delete_object(Bucket="states", Key=KEY.format("staging", name))


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
    serial = on_s3.sync()["components"]["networking"]["serial"]
    on_s3.change(f'"serial": {serial}'.encode(), f'"serial": {serial + 1}'.encode())
    on_s3.change(b'"value": "net"', b'"value": "renamed"')
    returned = on_s3.sync()
    assert returned["components"]["networking"]["outputs"] == ["name"]
    assert on_s3.pillar("web-1")["staging"]["networking"]["name"] == "renamed"


def test_a_server_that_is_away_leaves_the_last_values_with_their_age(on_s3, monkeypatch):
    on_s3.sync()
    before = on_s3.pillar("web-1")

    def away(*_):
        raise StateError("the state can't be read", "nobody answers")

    with monkeypatch.context() as patch:
        patch.setattr(S3States, "fetch", away)
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
