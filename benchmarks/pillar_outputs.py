"""What the ext_pillar costs a minion's pillar: N components, nothing changed, one changed, and with a named secret.

    python benchmarks/pillar_outputs.py [--components 100] [--compiles 2000]

Every compile reads index and cache from disk as a new process would; only Python's imports are warm, as they are in
a master's worker. The 99th percentile of CPU time says what a compile costs on a machine that is busy with others.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from saltform.pillar_outputs import outputs_for

MINION = "web-1"


def write_state(path: Path, serial: int) -> None:
    outputs = {
        f"output_{number}": {"value": f"{path.parent.name}-{serial}-{number}", "type": "string"}
        for number in range(10)
    }
    outputs["password"] = {"value": "sesame", "type": "string", "sensitive": True}
    state = {"version": 4, "terraform_version": "1.11.4", "serial": serial, "lineage": "l", "outputs": outputs}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(state | {"resources": []}))


def prepare(folder: Path, count: int, named: int) -> dict[str, Path]:
    states = {f"c{number:04}": folder / "states" / "bench" / f"c{number:04}" / "state" for number in range(count)}
    index = {
        name: {"state": str(path), "targets": "web-*", "outputs": {"password": [MINION]} if number < named else {}}
        for number, (name, path) in enumerate(states.items())
    }
    (folder / "index").mkdir()
    (folder / "index" / "bench.json").write_text(json.dumps(index))
    for path in states.values():
        write_state(path, 1)
    return states


def measure(name: str, compiles: int, folder: Path, before: Callable[[int], None] = lambda _: None) -> None:
    options = {"saltform": {"state_dir": str(folder)}}
    outputs_for(MINION, options, lambda _: False)
    times, worked = [], []
    for number in range(compiles):
        before(number)
        began, at_work = time.perf_counter(), time.thread_time()
        found = outputs_for(MINION, options, lambda _: False)
        times.append((time.perf_counter() - began) * 1000)
        worked.append((time.thread_time() - at_work) * 1000)
        assert found["bench"]
    p99, cpu = (statistics.quantiles(each, n=100)[98] for each in (times, worked))
    print(f"{name:32} median {statistics.median(times):6.2f} ms   p99 {p99:6.2f} ms   of CPU time {cpu:6.2f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--components", type=int, default=100)
    parser.add_argument("--compiles", type=int, default=2000)
    given = parser.parse_args()
    for name, named, change in (("nothing changed", 0, False), ("one changed", 0, True), ("a secret read", 1, False)):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            states = list(prepare(folder, given.components, named).values())
            touch = (lambda n, s=states: write_state(s[n % len(s)], n + 2)) if change else (lambda _: None)
            measure(f"{given.components} components, {name}", given.compiles // (10 if change else 1), folder, touch)


if __name__ == "__main__":
    main()
