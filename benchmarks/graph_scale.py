"""How long 10,000 components in 50 layers take to validate, resolve and order, and how much memory.

    python benchmarks/graph_scale.py [--components 10000] [--layers 50] [--rounds 5]

Every round is a fresh process, so that its peak memory is its own, the interpreter and all imports included. Beside
the wall's clock stands the CPU's, which a busy machine doesn't stretch. Reach: 1 s and 300 MB for validate, resolve
and order together; a run's schedule is shown beside them.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

STEPS = ("validate and resolve", "order", "schedule")


def pillar(components: int, layers: int) -> dict:
    """Each component takes two inputs from the layer below and needs a third one; one needs all the others."""
    chance = random.Random(1)
    width = components // layers
    names = [[f"layer{layer:02}-{number:04}" for number in range(width)] for layer in range(layers)]
    described: dict = {"backups": {"module": "offsite-backup", "provider": "hive", "needs": ["*"]}}
    for layer, row in enumerate(names):
        for name in row:
            described[name] = {
                "module": "cluster",
                "provider": "hive",
                "variables": {"cidr": "10.20.0.0/16", "size": 3},
            }
            if layer:
                first, second, third = chance.sample(names[layer - 1], 3)
                described[name]["inputs"] = {"vpc_id": f"@{first}.vpc_id", "address": f"@{second}.address"}
                described[name]["needs"] = [third]
    hive = {"kind": "aws", "endpoint": "https://127.0.0.1:9999", "region": "ap-southeast-2"}
    return {"infrastructure": {"providers": {"hive": hive}, "environments": {"staging": {"components": described}}}}


def one_round(components: int, layers: int) -> dict[str, float]:
    from saltform.config import load
    from saltform.graph import Graph
    from saltform.schedule import Schedule

    given = pillar(components, layers)
    moments = [_now()]
    environment = load(given, "staging").environment("staging")
    moments.append(_now())
    graph = Graph({name: component.needs for name, component in environment.components.items()})
    order = graph.order()
    moments.append(_now())
    Schedule(graph)
    moments.append(_now())
    assert len(order) == len(given["infrastructure"]["environments"]["staging"]["components"])
    assert len(graph.layers()) == layers + 1
    taken = {}
    for name, before, after in zip(STEPS, moments, moments[1:], strict=False):
        taken[name], taken[f"{name}, CPU"] = after[0] - before[0], after[1] - before[1]
    return {**taken, "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--components", type=int, default=10_000)
    parser.add_argument("--layers", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--one-round", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one_round:
        print(json.dumps(one_round(given.components, given.layers)))
        return
    rounds = [_in_a_fresh_process() for _ in range(given.rounds)]
    middle = {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
    print(f"{given.components:,} components in {given.layers} layers, median of {given.rounds} rounds")
    for name in STEPS:
        print(f"  {name:<28} {_milliseconds(middle, [name])}")
    print(f"  {'validate, resolve and order':<28} {_milliseconds(middle, STEPS[:2])}, reach: 1000 ms")
    print(f"  {'peak memory':<28} {middle['megabytes']:5.0f} MB, reach: 300 MB")


def _milliseconds(middle: dict[str, float], names: Sequence[str]) -> str:
    wall, cpu = sum(middle[name] for name in names), sum(middle[f"{name}, CPU"] for name in names)
    return f"{wall * 1000:5.0f} ms ({cpu * 1000:.0f} ms CPU)"


def _in_a_fresh_process() -> dict[str, float]:
    argv = [sys.executable, __file__, *sys.argv[1:], "--one-round"]
    root = str(Path(__file__).resolve().parents[1])
    done = subprocess.run(argv, check=True, capture_output=True, text=True, env={"PYTHONPATH": root})
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
