"""Outputs as pillar from states on local disk, S3 and PostgreSQL: what a compile costs, and what a sync asks for.

    python benchmarks/ext_pillar.py [--components 100] [--compiles 1000] [--minions 1000]

A compile reads this disk only, wherever the states are. What follows the servers is `sync_states`: one listing when
nothing has changed, one read more when one has. S3 is SeaweedFS and PostgreSQL a real one, both on this machine.
The 99th percentile of CPU time says what it costs on a machine that is busy with others.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

from saltform.credentials.aws import states_client  # noqa: E402
from saltform.pillar_outputs import outputs_for  # noqa: E402
from saltform.tfstate.pg import PgStates  # noqa: E402
from saltform.tfstate.pg import connection as connection_of  # noqa: E402
from saltform.tfstate.s3 import S3States  # noqa: E402
from tests.support.postgres import postgres  # noqa: E402
from tests.support.seaweedfs import s3_server  # noqa: E402

Store = Callable[[str, bytes], None]


def state(name: str, serial: int) -> bytes:
    outputs = {f"output_{number}": {"value": f"{name}-{serial}-{number}", "type": "string"} for number in range(10)}
    tree = {"version": 4, "terraform_version": "1.11.4", "serial": serial, "lineage": "l", "outputs": outputs}
    return json.dumps(tree | {"resources": []}).encode()


def percentiles(times: list[tuple[float, float]]) -> str:
    took, worked = zip(*times, strict=True)
    p99, cpu = (statistics.quantiles(each, n=100)[98] for each in (took, worked))
    return f"median {statistics.median(took):6.2f} ms   p99 {p99:6.2f} ms   of CPU time {cpu:6.2f} ms"


def timed(times: int, work: Callable[[int], Any]) -> list[tuple[float, float]]:
    """Milliseconds by the clock, and of this process's CPU."""
    took = []
    for number in range(times):
        began, at_work = time.perf_counter(), time.process_time()
        work(number)
        took.append(((time.perf_counter() - began) * 1000, (time.process_time() - at_work) * 1000))
    return took


def prepare(folder: Path, names: list[str]) -> dict[str, Path]:
    """The same for every backend: the copies of states on servers have the form of local states."""
    paths = {name: folder / "copies" / "bench" / name / "terraform.tfstate" for name in names}
    index = {name: {"state": str(path), "targets": "web-*", "outputs": {}} for name, path in paths.items()}
    (folder / "index").mkdir()
    (folder / "index" / "bench.json").write_text(json.dumps(index))
    for name, path in paths.items():
        path.parent.mkdir(parents=True)
        path.write_bytes(state(name, 1))
    return paths


def compiled(folder: Path, minion: str = "web-1") -> int:
    options = {"saltform": {"state_dir": str(folder)}}
    return len(outputs_for(minion, options, lambda _: False)["bench"])


def compiles(folder: Path, names: list[str], count: int) -> None:
    paths = prepare(folder, names)

    def compile_one(_: int) -> None:
        assert compiled(folder) == len(names)

    compile_one(0)
    print(f"compile, nothing changed       {percentiles(timed(count, compile_one))}   (reach: p99 ≤5 ms)")

    def changed(number: int) -> None:
        name = names[number % len(names)]
        paths[name].write_bytes(state(name, number + 2))
        compile_one(number)

    print(
        f"compile, one changed           {percentiles(timed(max(count // 10, 100), changed))}   (reach: p99 ≤50 ms)"
    )


def syncs(kind: str, reader: Any, store: Store, names: list[str], count: int) -> None:
    for name in names:
        store(name, state(name, 1))
    began = time.perf_counter()
    reader.read_many("bench", names)
    print(f"{kind}: first read of {len(names)} states in {(time.perf_counter() - began) * 1000:.0f} ms")
    same = timed(count, lambda _: reader.read_many("bench", names))
    print(f"{kind}: nothing changed           {percentiles(same)}")
    times = []
    for number in range(count):
        store(names[number % len(names)], state("x", number + 2))
        times += timed(1, lambda _: reader.read_many("bench", names))
    print(f"{kind}: one changed               {percentiles(times)}   (reach: p99 ≤50 ms)")


def fleet(kind: str, reader: Any, asked: list[str], names: list[str], minions: int) -> None:
    """How often the server is asked by the pillars of many minions, and by the sync that keeps them fresh."""
    with tempfile.TemporaryDirectory() as place:
        prepare(Path(place), names)
        asked.clear()
        for number in range(minions):
            assert compiled(Path(place), f"web-{number}") == len(names)
    by_minions = len(asked)
    reader.read_many("bench", names)
    print(f"{kind}: requests at the server by {minions} compiles: {by_minions}, by a sync: {len(asked) - by_minions}")


class Counting:
    """A connection that notes its statements."""

    def __init__(self, connection: Any, asked: list[str]) -> None:
        self._connection, self._asked = connection, asked

    def execute(self, statement: Any, *given: Any) -> Any:
        self._asked.append(str(statement)[:20])
        return self._connection.execute(statement, *given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


@contextmanager
def on_s3(folder: Path, asked: list[str]) -> Iterator[tuple[S3States, Store]]:
    keys = ("AKIABENCH00000000001", "bench/secret")
    with s3_server(folder, *keys, "states") as client:
        settings = {"region": "us-east-1", "endpoint": client.meta.endpoint_url}
        lent = dict(zip(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), keys, strict=True))
        ours = states_client(settings, lent)
        ours.meta.events.register("before-send.s3", lambda request, **_: asked.append(request.method))

        def store(name: str, content: bytes) -> None:
            client.put_object(Bucket="states", Key=f"bench/{name}", Body=content)

        reader = S3States(ours, "states", "{}/{}".format)
        yield reader, store
        reader.close()


@contextmanager
def on_pg(asked: list[str]) -> Iterator[tuple[PgStates, Store]]:
    import psycopg

    with postgres() as database, psycopg.connect(database.uri, autocommit=True) as connection:

        def store(name: str, content: bytes) -> None:
            schema = f'"bench.{name}"'
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS {schema}.states (id bigserial, name text UNIQUE, data text)"
            )
            connection.execute(
                f"INSERT INTO {schema}.states (name, data) VALUES ('default', %s)"
                " ON CONFLICT (name) DO UPDATE SET data = excluded.data",
                (content.decode(),),
            )

        reader = PgStates(lambda: Counting(connection_of(database.uri, {}), asked), "{}.{}".format)
        yield reader, store
        reader.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--components", type=int, default=100)
    parser.add_argument("--compiles", type=int, default=1000)
    parser.add_argument("--syncs", type=int, default=400)
    parser.add_argument("--minions", type=int, default=1000)
    given = parser.parse_args()
    names = [f"c{number:04}" for number in range(given.components)]
    with tempfile.TemporaryDirectory() as place:
        compiles(Path(place), names, given.compiles)
    asked: list[str] = []
    with tempfile.TemporaryDirectory() as place, on_s3(Path(place), asked) as (reader, store):
        syncs("s3", reader, store, names, given.syncs)
        fleet("s3", reader, asked, names, given.minions)
    with on_pg(asked) as (reader, store):
        syncs("pg", reader, store, names, given.syncs)
        fleet("pg", reader, asked, names, given.minions)


if __name__ == "__main__":
    main()
