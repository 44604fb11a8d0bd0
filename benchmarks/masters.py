"""100 components through two masters on one PostgreSQL, beside one master with the same number at once.

    python benchmarks/masters.py [--components 100] [--parallelism 4] [--rounds 1]

Each master is a process with its own folder; both deploy one environment, each its half of it, with the run log and
the states in PostgreSQL. One master deploys all of it. The processes are started, and have deployed one component,
before the clock is. Reach: two masters ≤1.1 × one.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.postgres import Postgres, postgres
from tests.support.racing_master import RacingMaster
from tests.support.world import World


def deploy(server: Postgres, folder: Path, name: str, count: int, masters: int, parallelism: int) -> float:
    address, made = server.schema(name), []
    for number in range(masters):
        home = folder / name / str(number)
        home.mkdir(parents=True)
        world = World(home)
        backend = {"type": "pg", "conn_str": f"{server.uri}&sslmode=disable"}
        backend["schema_name"] = f"{name}.{{environment}}.{{component}}"
        world.infrastructure = {"runlog": address, "defaults": {"backend": backend}}
        made.append(RacingMaster(world))
    components = {f"c{index:03}": {"module": "base", "variables": {"name": f"c{index}"}} for index in range(count)}
    components |= {f"warm{number}": {"module": "base", "variables": {"name": "w"}} for number in range(masters)}
    names = sorted(components)[:count]

    def all_of_them(choose: list[list[str]]) -> None:
        for each, wanted in zip(made, choose, strict=True):
            each.deploy(components, {"components": wanted, "parallelism": parallelism // masters})
        for each in made:
            returned = each.answer()
            assert returned["retcode"] == 0, returned

    all_of_them([[f"warm{number}"] for number in range(masters)])
    began = time.perf_counter()
    all_of_them([names[number::masters] for number in range(masters)])
    seconds = time.perf_counter() - began
    for each in made:
        each.close()
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--components", type=int, default=100)
    parser.add_argument("--parallelism", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    os.environ["PYTHONWARNINGS"] = "ignore"
    times: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as name, postgres() as server:
        for number in range(given.rounds):
            for masters, found in times.items():
                where = f"r{number}m{masters}"
                found.append(deploy(server, Path(name), where, given.components, masters, given.parallelism))
    one, two = (statistics.median(found) for found in times.values())
    print(
        f"{given.components} components, {given.parallelism} at once: one master {one:.1f} s, two masters {two:.1f} s"
    )
    print(f"two masters / one master: {two / one:.2f} (reach: ≤1.1)")


if __name__ == "__main__":
    sys.exit(main())
