"""Outputs as pillar from states on local disk, S3 and PostgreSQL: what a compile costs, and what a sync asks for.

    python benchmarks/ext_pillar.py [--components 100] [--compiles 1000]

A compile reads this disk only, wherever the states are. What follows the servers is `sync_states`: one listing when
nothing has changed, one read more when one has. S3 is SeaweedFS and PostgreSQL a real one, both on this machine.
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

from saltform.pillar_outputs import outputs_for  # noqa: E402
from saltform.tfstate.pg import PgStates  # noqa: E402
from saltform.tfstate.s3 import S3States  # noqa: E402
from tests.support.postgres import postgres  # noqa: E402
from tests.support.seaweedfs import s3_server  # noqa: E402

Store = Callable[[str, bytes], None]


def state(name: str, serial: int) -> bytes:
    outputs = {f"output_{number}": {"value": f"{name}-{serial}-{number}", "type": "string"} for number in range(10)}
    tree = {"version": 4, "terraform_version": "1.11.4", "serial": serial, "lineage": "l", "outputs": outputs}
    return json.dumps(tree | {"resources": []}).encode()


def percentiles(times: list[float]) -> str:
    return f"median {statistics.median(times):6.2f} ms   p99 {statistics.quantiles(times, n=100)[98]:6.2f} ms"


def timed(times: int, work: Callable[[int], Any]) -> list[float]:
    took = []
    for number in range(times):
        began = time.perf_counter()
        work(number)
        took.append((time.perf_counter() - began) * 1000)
    return took


def compiles(folder: Path, names: list[str], count: int) -> None:
    """The same for every backend: the copies of states on servers have the form of local states."""
    paths = {name: folder / "copies" / "bench" / name / "terraform.tfstate" for name in names}
    index = {name: {"state": str(path), "targets": "web-*", "outputs": {}} for name, path in paths.items()}
    (folder / "index").mkdir()
    (folder / "index" / "bench.json").write_text(json.dumps(index))
    for name, path in paths.items():
        path.parent.mkdir(parents=True)
        path.write_bytes(state(name, 1))
    options = {"saltform": {"state_dir": str(folder)}}

    def compile_one(_: int) -> None:
        assert len(outputs_for("web-1", options, lambda _: False)["bench"]) == len(names)

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


@contextmanager
def on_s3(folder: Path) -> Iterator[tuple[S3States, Store]]:
    with s3_server(folder, "AKIABENCH00000000001", "bench/secret", "states") as client:

        def store(name: str, content: bytes) -> None:
            client.put_object(Bucket="states", Key=f"bench/{name}", Body=content)

        yield S3States(client, "states", "{}/{}".format), store


@contextmanager
def on_pg() -> Iterator[tuple[PgStates, Store]]:
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

        reader = PgStates(lambda: psycopg.connect(database.uri, autocommit=True), "{}.{}".format)
        yield reader, store
        reader.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--components", type=int, default=100)
    parser.add_argument("--compiles", type=int, default=1000)
    parser.add_argument("--syncs", type=int, default=100)
    given = parser.parse_args()
    names = [f"c{number:04}" for number in range(given.components)]
    with tempfile.TemporaryDirectory() as place:
        compiles(Path(place), names, given.compiles)
    with tempfile.TemporaryDirectory() as place, on_s3(Path(place)) as (reader, store):
        syncs("s3", reader, store, names, given.syncs)
    with on_pg() as (reader, store):
        syncs("pg", reader, store, names, given.syncs)


if __name__ == "__main__":
    main()
