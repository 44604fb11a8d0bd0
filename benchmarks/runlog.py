"""What the run log costs a step: everything that one changed component writes, in SQLite and in PostgreSQL.

    python benchmarks/runlog.py [--steps 300]

A step is: begun, its lock taken, the lock checked before each of three processes, its release and record kept before
the apply and again after it, the lock given back, ended. Beside it stands a bare commit, which waits for the disk: a
step in SQLite has two of those, one in PostgreSQL three. Reach: 2 ms a step in SQLite, 5 ms in PostgreSQL; with
TMPDIR=/dev/shm it is without the disk.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from saltform.layout import Layout
from saltform.runlog import ComponentRecord, RunLog, RunRecord
from tests.support.postgres import postgres

REACH = {"SQLite": 2.0, "PostgreSQL": 5.0}


def one_step(log: RunLog, locks, name: str) -> None:
    step = log.begin_step("1", name)
    with locks.hold("bench", name, "1", "ada") as held:
        for fingerprint in ("", "f" * 64):
            held.check()
            log.keep_release(f"release of {name}", {"module": "small", "variables": {"name": name}}, "1")
            log.keep_component(
                ComponentRecord("bench", name, "r" * 64, fingerprint, "lineage", 1, "1", "1", "now", "embedded"),
                held.number,
            )
        held.check()
    step.status, step.details = "applied", {"counts": {"add": 1, "change": 0, "remove": 0}}
    log.end_step("1", step)


def measure(where: Path | str, folder: Path, steps: int) -> tuple[float, float]:
    """Milliseconds of a step, and of the smallest write that there is."""
    log = RunLog(where)
    locks = log.locks(Layout(folder))
    log.begin(RunRecord("1", "bench", "deploy", "ada", {}))
    times, bare = [], []
    for number in range(steps):
        began = time.perf_counter()
        one_step(log, locks, f"c{number:04}")
        times.append(time.perf_counter() - began)
        began = time.perf_counter()
        log.set_notes("1", [str(number)])
        bare.append(time.perf_counter() - began)
    log.close()
    return statistics.median(times) * 1000, statistics.median(bare) * 1000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, postgres() as server:
        server.sql("ALTER SYSTEM SET fsync = on;")
        server.sql("SELECT pg_reload_conf();")
        places = {"SQLite": Path(name) / "runs.sqlite", "PostgreSQL": server.schema("bench")}
        for database, where in places.items():
            step, bare = measure(where, Path(name) / database, given.steps)
            print(f"{database}: {step:.2f} ms a step (reach: ≤{REACH[database]:g}), a bare commit {bare:.2f} ms")


if __name__ == "__main__":
    sys.exit(main())
