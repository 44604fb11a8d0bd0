"""States on a server as pillar: copied by conditional reads, served from this disk, with their age."""

from __future__ import annotations

import contextlib
import json
from urllib.parse import urlsplit

import psycopg
import pytest

from saltform.credentials import aws
from saltform.pillar_outputs import outputs_for
from saltform.tfstate import pg
from saltform.tfstate.pg import PgStates
from saltform.tfstate.s3 import S3States
from tests.support.between import between
from tests.support.postgres import postgres
from tests.support.seaweedfs import s3_server

KEYS = ("AKIASTATEACCOUNT0001", "secret/of+the/state+account/0123456789")
KEY = "staging/networking/terraform.tfstate"
MINIONS = ("web-1", "vault-1", "nobody")


class S3:
    """States in a bucket, reached through something that can be cut."""

    reader = S3States
    wrong = {"STATES_SECRET": "not-the-secret"}

    def __init__(self, client, line):
        self.client, self.line = client, line
        self.lent = dict(zip(("STATES_KEY", "STATES_SECRET"), KEYS, strict=True))
        keys = {"AWS_ACCESS_KEY_ID": "STATES_KEY", "AWS_SECRET_ACCESS_KEY": "STATES_SECRET"}
        endpoint = f"http://127.0.0.1:{line.address[1]}"
        self.backend = {"type": "s3", "bucket": "states", "region": "us-east-1", "endpoint": endpoint}
        self.backend["credentials"] = {"environment": {"map": keys}}

    def content(self):
        return self.client.get_object(Bucket="states", Key=KEY)["Body"].read()

    def store(self, content):
        self.client.put_object(Bucket="states", Key=KEY, Body=content)

    def clear(self):
        for item in self.client.list_objects_v2(Bucket="states").get("Contents", ()):
            self.client.delete_object(Bucket="states", Key=item["Key"])


class Pg:
    """States in PostgreSQL, the same way."""

    reader = PgStates

    def __init__(self, database, line, folder):
        self.database, self.line = database, line
        self.lent = {"STATES_ADDRESS": f"postgres://postgres@/postgres?host={folder}&sslmode=disable"}
        self.wrong = {"STATES_ADDRESS": f"postgres://stranger:wrong@/postgres?host={folder}&sslmode=disable"}
        keys = {"PG_CONN_STR": "STATES_ADDRESS"}
        self.backend = {"type": "pg", "credentials": {"environment": {"map": keys}}}

    def content(self):
        [row] = self._ask('SELECT data FROM "staging.networking".states').fetchall()
        return row[0].encode()

    def store(self, content):
        self._ask('UPDATE "staging.networking".states SET data = %s', content.decode())

    def clear(self):
        self._ask('DROP SCHEMA IF EXISTS "staging.networking", "staging.consul" CASCADE')

    def _ask(self, statement, *given):
        with contextlib.closing(psycopg.connect(self.database.uri, autocommit=True)) as connection:
            return connection.execute(statement, given)


@contextlib.contextmanager
def on_s3(folder):
    with s3_server(folder, *KEYS, "states") as client:
        there = urlsplit(client.meta.endpoint_url)
        with between(("127.0.0.1", 0), (there.hostname, there.port)) as line:
            yield S3(client, line)


@contextlib.contextmanager
def on_pg(_folder):
    with postgres() as database:
        database.sql("CREATE ROLE stranger LOGIN PASSWORD 'right';")
        database.ask_for_password("stranger")
        folder = database.folder / "line"
        folder.mkdir()
        with between(f"{folder}/.s.PGSQL.5432", f"{database.folder}/.s.PGSQL.5432") as line:
            yield Pg(database, line, folder)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(each, id=name, marks=pytest.mark.xdist_group(f"servers {name}"))
        for name, each in (("s3", on_s3), ("pg", on_pg))
    ],
)
def server(request, tmp_path_factory):
    with request.param(tmp_path_factory.mktemp("server")) as made:
        yield made


class Stored:
    """An environment with its states on a server."""

    def __init__(self, world, server):
        self.world, self.server = world, server
        world.components = {
            "networking": {"module": "base", "variables": {"name": "net"}, "targets": "web*"},
            "consul": {"module": "app", "inputs": {"base": "@networking.id"}},
        }
        world.infrastructure = {"defaults": {"backend": server.backend}}
        self.name_vault()
        assert world.deploy()["retcode"] == 0

    def name_vault(self):
        self.world.components["networking"]["outputs"] = {"password": {"targets": ["vault-1"]}}

    def sync(self):
        self.world.processes.started.clear()
        return self.world.call("sync_states", "staging")

    def pillar(self, minion):
        options = {"saltform": {"state_dir": str(self.world.state_dir)}}
        return outputs_for(minion, options, lambda _: False)


@pytest.fixture
def stored(world, server, monkeypatch):
    for name, value in server.lent.items():
        monkeypatch.setenv(name, value)
    yield Stored(world, server)
    server.clear()


def test_each_minion_sees_what_is_for_it_and_nothing_else(stored):
    assert stored.sync()["retcode"] == 0
    seen = {minion: stored.pillar(minion).get("staging", {}).get("networking", {}) for minion in MINIONS}
    assert sorted(seen["web-1"]) == ["id", "name"]
    assert seen["vault-1"] == {"password": "hush-hush-hush"}
    assert seen["nobody"] == {}
    copies = stored.world.state_dir / "copies" / "staging"
    assert "hush-hush-hush" not in (copies / "consul" / "terraform.tfstate").read_text()
    assert (copies / "networking" / "terraform.tfstate").stat().st_mode & 0o777 == 0o600
    # Who is not named any more sees it no longer, nor does this disk have it; and back.
    del stored.world.components["networking"]["outputs"]
    stored.sync()
    assert stored.pillar("vault-1") == {}
    assert "hush-hush-hush" not in (copies / "networking" / "terraform.tfstate").read_text()
    stored.name_vault()
    assert stored.world.deploy()["retcode"] == 0
    assert stored.pillar("vault-1")["staging"]["networking"] == {"password": "hush-hush-hush"}


def test_a_change_on_the_server_reaches_the_pillar_with_the_next_sync_and_nothing_else_is_read(stored, monkeypatch):
    stored.sync()
    fetched, fetch = [], stored.server.reader.fetch
    monkeypatch.setattr(stored.server.reader, "fetch", lambda *given: fetched.append(given[2]) or fetch(*given))
    assert stored.sync()["components"]["networking"]["status"] == "in step"
    assert fetched == []  # whoever asks: every sync is a process of its own
    document = json.loads(stored.server.content())
    document["serial"] += 1
    document["outputs"]["name"]["value"] = "renamed"
    stored.server.store(json.dumps(document).encode())
    returned = stored.sync()
    assert (returned["components"]["networking"]["outputs"], fetched) == (["name"], ["networking"])
    assert stored.pillar("web-1")["staging"]["networking"]["name"] == "renamed"


def test_whatever_happens_to_the_server_leaves_the_last_values_with_their_age(stored, monkeypatch):
    stored.sync()
    server, line, before = stored.server, stored.server.line, stored.pillar("web-1")
    good = server.content()
    ages = []

    def look(at_fault=("networking", "consul")):
        returned = stored.sync()
        status = {name: entry["status"] for name, entry in returned["components"].items()}
        assert status == {name: "unreadable" if name in at_fault else "in step" for name in status}
        assert returned["retcode"] == 1
        after = stored.pillar("web-1")
        told = after.pop("_status")["staging"]["networking"]
        assert after == before
        assert told["problem"]
        ages.append(told["as_of"])
        assert stored.pillar("vault-1")["staging"] == {"networking": {"password": "hush-hush-hush"}}
        assert stored.pillar("nobody") == {}
        assert stored.world.processes.started == []

    line.mode = "gone"
    line.drop()
    look()
    line.mode, line.accepted = "silent", 0
    with monkeypatch.context() as patch:
        patch.setattr(aws, "TIMEOUT", 1.0)
        patch.setattr(pg, "TIMEOUT", 2.0)
        look()
    assert line.accepted <= 3, "one state that can't be had is enough: the others wait for nothing"
    line.drop()
    line.mode = "open"
    with monkeypatch.context() as patch:
        for name, value in server.wrong.items():
            patch.setenv(name, value)
        look()
    assert len(set(ages)) == 1, "they were good when they were last seen, and not since"
    for broken in (good[:100], json.dumps(json.loads(good) | {"version": 5}).encode()):
        server.store(broken)
        look(at_fault=["networking"])
    server.store(good)
    assert stored.sync()["retcode"] == 0
    assert "_status" not in stored.pillar("web-1")


def test_a_database_that_is_locked_is_not_waited_for(stored, monkeypatch):
    if stored.server.reader is not PgStates:
        pytest.skip("a bucket has no locks")
    stored.sync()
    monkeypatch.setattr(pg, "TIMEOUT", 4.0)
    with psycopg.connect(stored.server.database.uri) as holder:
        holder.execute('LOCK TABLE "staging.networking".states IN ACCESS EXCLUSIVE MODE')
        returned = stored.sync()
    assert returned["components"]["networking"]["error"]["detail"].endswith("no answer within 4 s")
