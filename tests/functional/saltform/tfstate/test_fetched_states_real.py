"""States on servers: the contract on a real S3 and a real PostgreSQL, conditional reads, and faults."""

from __future__ import annotations

import contextlib
import itertools

import boto3
import psycopg
import pytest

from saltform.errors import StateError
from saltform.tfstate import Head
from saltform.tfstate.pg import PgStates
from saltform.tfstate.s3 import S3States
from tests.support.postgres import postgres
from tests.support.seaweedfs import s3_server
from tests.support.states_contract import StatesContract, state

KEYS = ("AKIASTATEACCOUNT0001", "secret/of+the/state+account/0123456789")
NUMBERS = itertools.count()


class S3Bench:
    """Every test has its own prefix in one bucket."""

    def __init__(self, client):
        self.client, self.prefix, self.asked = client, f"t{next(NUMBERS)}", []
        client.meta.events.register("before-call.s3", self._note, unique_id="bench")
        self.reader = S3States(client, "states", self.key)

    def _note(self, model, **_):
        self.asked.append(model.name)

    def key(self, environment, component):
        return f"{self.prefix}/{environment}/{component}.tfstate"

    def store(self, environment, component, content):
        self.client.put_object(Bucket="states", Key=self.key(environment, component), Body=content)
        self.asked.clear()

    def close(self):
        self.client.meta.events.unregister("before-call.s3", unique_id="bench")


class PgBench:
    """Every test has schemas of its own, made as the backend `pg` makes them."""

    def __init__(self, uri):
        self.number, self.asked = next(NUMBERS), []
        self.connection = psycopg.connect(uri, autocommit=True)
        self.reader = PgStates(lambda: psycopg.connect(uri, autocommit=True), self.schema)

    def schema(self, environment, component):
        return f"t{self.number}_{environment}_{component}"

    def store(self, environment, component, content):
        schema = self.schema(environment, component)
        self.connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        table = f'"{schema}".states'
        self.connection.execute(
            f"CREATE TABLE IF NOT EXISTS {table} (id bigserial PRIMARY KEY, name text UNIQUE, data text)"
        )
        self.connection.execute(
            f"INSERT INTO {table} (name, data) VALUES ('default', %s)"
            " ON CONFLICT (name) DO UPDATE SET data = excluded.data",
            (content.decode(),),
        )

    def close(self):
        self.reader.close()
        self.connection.close()


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    with s3_server(tmp_path_factory.mktemp("s3"), *KEYS, "states") as client, postgres() as database:
        yield {"s3": lambda: S3Bench(client), "pg": lambda: PgBench(database.uri)}


@pytest.fixture(params=["s3", "pg"])
def bench(request, servers):
    made = servers[request.param]()
    yield made
    made.close()


class TestFetchedStates(StatesContract):
    """The contract."""


def test_many_are_read_at_once_and_only_what_changed_is_fetched_again(bench, monkeypatch):
    names = [f"c{number}" for number in range(5)]
    for name in names[:4]:
        bench.store("staging", name, state(1))
    bench.store("staging", "c3", b"nonsense")
    bench.store("production", "c0", state(9))
    fetched = []
    fetch = type(bench.reader).fetch
    monkeypatch.setattr(type(bench.reader), "fetch", lambda *given: fetched.append(given[2]) or fetch(*given))
    first = bench.reader.read_many("staging", names)
    assert {name: found.serial for name, found in first.items() if name in names[:3]} == {"c0": 1, "c1": 1, "c2": 1}
    assert isinstance(first["c3"], StateError)
    assert first["c4"] is None
    assert sorted(fetched) == names[:4]
    bench.store("staging", "c3", state(1))
    bench.store("staging", "c1", state(2))
    fetched.clear()
    second = bench.reader.read_many("staging", names)
    assert sorted(fetched) == ["c1", "c3"]
    assert (second["c1"].serial, second["c3"].serial) == (2, 1)
    assert bench.reader.read_many("staging", []) == {}


def test_a_state_that_is_as_it_was_is_not_sent_again(bench, monkeypatch):
    bench.store("staging", "net", state())
    bench.reader.head("staging", "net")
    monkeypatch.setattr("saltform.tfstate.fetched.read", None)
    assert bench.reader.head("staging", "net") == Head(3, "l-1")
    assert bench.reader.last("staging", "net").state.serial == 3


def test_a_name_that_tries_tricks_finds_nothing(bench):
    bench.store("staging", "net", state())
    for name in ("../net", 'net"; DROP SCHEMA x; --', "net'", "%", ""):
        with contextlib.suppress(StateError):  # a server may refuse to look there at all
            assert bench.reader.read("staging", name) is None
    assert bench.reader.head("staging", "net").serial == 3


@pytest.mark.parametrize(
    ("keys", "bucket", "said"),
    [(KEYS, "no-such-bucket", "NoSuchBucket"), (("AKIANOBODY0000000000", "wrong"), "states", "InvalidAccessKeyId")],
)
def test_what_s3_refuses_is_said_with_a_fix(servers, keys, bucket, said):
    address = servers["s3"]().client.meta.endpoint_url
    client = boto3.session.Session(*keys, region_name="us-east-1").client("s3", endpoint_url=address)
    reader = S3States(client, bucket, "{}/{}/terraform.tfstate".format)
    with pytest.raises(StateError, match=said) as caught:
        reader.marks("staging", ["net"])
    assert caught.value.fix
    client.close()


def test_whether_a_bucket_keeps_versions_is_asked(servers):
    client = servers["s3"]().client
    client.create_bucket(Bucket="versioned")
    reader = S3States(client, "versioned", "{}/{}".format)
    assert reader.keeps_versions() is False
    client.put_bucket_versioning(Bucket="versioned", VersioningConfiguration={"Status": "Enabled"})
    assert reader.keeps_versions() is True
    assert S3States(client, "no-such-bucket", "{}/{}".format).keeps_versions() is False


def test_a_server_that_is_away_is_an_error_and_the_last_state_stays(bench, monkeypatch):
    bench.store("staging", "net", state())
    bench.reader.read("staging", "net")
    if isinstance(bench, PgBench):
        away = "host=127.0.0.1 port=1 connect_timeout=1"
        bench.reader.close()
        monkeypatch.setattr(bench.reader, "_connect", lambda: psycopg.connect(away))
    else:
        from botocore.config import Config

        quick = Config(connect_timeout=1, retries={"total_max_attempts": 1})
        session = boto3.session.Session(*KEYS, region_name="us-east-1")
        monkeypatch.setattr(
            bench.reader, "_client", session.client("s3", endpoint_url="http://127.0.0.1:1", config=quick)
        )
    with pytest.raises(StateError, match="can't be read") as caught:
        bench.reader.read("staging", "net")
    assert caught.value.fix
    with pytest.raises(StateError):
        bench.reader.read_many("staging", ["net"])
    assert bench.reader.last("staging", "net").state.head == Head(3, "l-1")


def test_a_connection_that_was_cut_is_opened_again(servers):
    bench = servers["pg"]()
    bench.store("staging", "net", state())
    assert bench.reader.head("staging", "net").serial == 3
    bench.connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    with pytest.raises(StateError, match="can't be read"):
        bench.reader.head("staging", "net")
    assert bench.reader.head("staging", "net").serial == 3
    bench.close()
