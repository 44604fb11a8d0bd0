"""The emulator against ``moto_server``: side by side, on this machine, in one run.

    python benchmarks/hive_vs_moto.py [--seconds 9] [--check]

Both servers hold 200 VPCs and 100 instances and are asked the same things, ids and signatures aside. Signed requests
are replayed over 8 connections by ``hive_load`` (not the bottleneck: it says what it takes itself). The two are
measured in turns of a second, and what counts is the median of the turns' ratios: a shared machine is a third faster
in one second than in another, and the best turns of the two would be of different moments. The servers' CPU time per
answer is shown too: it says the same without the wait for the disk's sync. ``--check`` fails when a number is not
reached.

CreateTags is one tag on one VPC, as a provider sends it when one tag has changed. Nearly all of what that costs moto
is its way from HTTP to any action: its CPU time for five or ten tags at once, or for other kinds of resources, is at
most a third more, and with five tags the ratio of the two is the same within a tenth.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from hive_load import Target, replay

from hive_emulator.testing import RunningHive, free_port, running_emulator

VPCS = 200
INSTANCES = 100
TAGGED = 20
TURNS = 9


@dataclass
class Row:
    """One line of the table."""

    work: str
    moto: str
    hive: str
    result: str
    reach: str
    reached: bool
    cpu: str = ""


@contextmanager
def running_moto() -> Iterator[tuple[Target, int, float]]:
    """A moto server, its process, and how long it took to be ready."""
    port = free_port()
    program = Path(sys.executable).with_name("moto_server")
    start = time.perf_counter()
    process = subprocess.Popen(
        [str(program), "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    endpoint = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                urllib.request.urlopen(endpoint + "/moto-api/").close()
                break
            except OSError:
                time.sleep(0.01)
        yield Target(endpoint, "testing", "testing"), process.pid, time.perf_counter() - start
    finally:
        process.kill()
        process.wait()


def client(target: Target) -> Any:
    import boto3

    session = boto3.session.Session(target.access_key, target.secret_key, region_name=target.region)
    return session.client("ec2", endpoint_url=target.endpoint)


def target_of(hive: RunningHive) -> Target:
    return Target(hive.endpoint, hive.access_key, hive.secret_key)


def fill(target: Target) -> list[str]:
    """200 VPCs and 100 instances."""
    ec2 = client(target)
    there = [vpc["VpcId"] for vpc in ec2.describe_vpcs()["Vpcs"]]
    there += [ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"] for _ in range(VPCS - len(there))]
    image = ec2.describe_images()["Images"][0]["ImageId"]
    ec2.run_instances(ImageId=image, InstanceType="t3.micro", MinCount=INSTANCES, MaxCount=INSTANCES)
    return there


def requests_of(target: Target, vpcs: list[str]) -> dict[str, list[bytes]]:
    some = vpcs[:: VPCS // TAGGED]
    return {
        f"DescribeVpcs of one id, {VPCS} in store": [target.signed("DescribeVpcs", **{"VpcId.1": id}) for id in some],
        f"DescribeVpcs of all {VPCS}": [target.signed("DescribeVpcs")],
        f"DescribeInstances of {INSTANCES}": [target.signed("DescribeInstances")],
        "CreateTags, durable (moto: in memory)": [
            # Another value each time round: SQLite neither writes nor syncs a record that is what it was.
            target.signed("CreateTags", **{"ResourceId.1": id, "Tag.1.Key": "k", "Tag.1.Value": value})
            for value in ("one", "another")
            for id in some
        ],
    }


REACH = [25, 50, 100, 30]


def compare(seconds: float) -> list[Row]:
    """The four kinds of request, and the start."""
    with running_moto() as (moto, moto_pid, moto_start), running_emulator(store="embedded") as hive:
        rows = [_start_row(moto_start)]
        ours = requests_of(target_of(hive), fill(target_of(hive)))
        theirs = requests_of(moto, fill(moto))
        for (work, mine), reach in zip(ours.items(), REACH, strict=True):
            slow, fast = in_turns(
                Side(moto.endpoint, moto_pid, theirs[work]), Side(hive.endpoint, hive.process.pid, mine), seconds
            )
            times = times_as_fast(fast, slow)
            rates = f"{median(slow.rates):,.1f}/s", f"{median(fast.rates):,.0f}/s"
            cpu = f"{slow.cpu / fast.cpu:,.0f}× ({fast.cpu * 1e6:,.0f} µs)"
            rows.append(Row(work, *rates, f"{times:,.0f}×", f"≥{reach}×", times >= reach, cpu))
    return rows


@dataclass
class Side:
    """One server and what it is asked."""

    endpoint: str
    pid: int
    requests: list[bytes]
    rates: list[float] = field(default_factory=list)  # answers a second, turn by turn
    spent: float = 0.0
    answers: int = 0

    def turn(self, seconds: float) -> None:
        before = _cpu_seconds(self.pid)
        load = replay(self.endpoint, self.requests, seconds)
        self.rates.append(load.rate)
        self.spent += _cpu_seconds(self.pid) - before
        self.answers += load.answers

    @property
    def cpu(self) -> float:
        """Seconds of the server's CPU time per answer."""
        return self.spent / self.answers


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def in_turns(one: Side, other: Side, seconds: float) -> tuple[Side, Side]:
    """Measure both, turn by turn."""
    for _ in range(TURNS):
        one.turn(seconds / TURNS)
        other.turn(seconds / TURNS)
    return one, other


def times_as_fast(one: Side, other: Side) -> float:
    """How many times as fast ``one`` is: the median of the turns."""
    return median(a / b for a, b in zip(one.rates, other.rates, strict=True))


def _start_row(moto: float) -> Row:
    times = []
    for _ in range(TURNS):
        start = time.perf_counter()
        with running_emulator(store="embedded"):
            times.append(time.perf_counter() - start)
    return Row("start to ready", f"{moto:.2f} s", f"{min(times):.2f} s", "", "≤0.5 s", min(times) <= 0.5)


def at_size(seconds: float) -> list[Row]:
    """The same question at 10 and at 10,000 resources, and the memory that 10,000 instances take."""
    with running_emulator(store="embedded") as small, running_emulator(store="embedded") as large:
        few, many = launch(small, 10), launch(large, 10_000)
        sides = [
            Side(hive.endpoint, hive.process.pid, _by_id(target_of(hive), ids[:: max(1, len(ids) // 20)]))
            for hive, ids in ((small, few), (large, many))
        ]
        at_few, at_many = in_turns(sides[0], sides[1], seconds)
        memory = _megabytes(large)
        replay(large.endpoint, [target_of(large).signed("DescribeInstances")], 0, connections=1, fewest=1)
        described = _megabytes(large)
    cost = times_as_fast(at_few, at_many)
    rates = f"{median(at_few.rates):,.0f}/s, {median(at_many.rates):,.0f}/s"
    cpu = f"{at_many.cpu / at_few.cpu:.2f}×"
    sizes = f"{memory:.0f} MB ({described:.0f} MB)"
    return [
        Row("one Describe by id at 10 and at 10,000", "–", rates, f"{cost:.2f}×", "≤1.5×", cost <= 1.5, cpu),
        Row("memory at 10,000 instances (all described)", "–", sizes, "", "≤300 MB", described <= 300),
    ]


def launch(hive: RunningHive, count: int) -> list[str]:
    """So many instances in a VPC of their own, a hundred a call; their ids."""
    ec2 = client(target_of(hive))
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/17")["Subnet"]["SubnetId"]
    image = ec2.describe_images()["Images"][0]["ImageId"]
    ids: list[str] = []
    while len(ids) < count:
        size = min(100, count - len(ids))
        wanted = {"ImageId": image, "InstanceType": "t3.micro", "SubnetId": subnet}
        made = ec2.run_instances(**wanted, MinCount=size, MaxCount=size)["Instances"]
        ids += [instance["InstanceId"] for instance in made]
    return ids


def _by_id(target: Target, ids: list[str]) -> list[bytes]:
    return [target.signed("DescribeInstances", **{"InstanceId.1": id}) for id in ids]


def _megabytes(hive: RunningHive) -> float:
    status = Path(f"/proc/{hive.process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def tool_alone(seconds: float) -> tuple[float, float]:
    """The load tool against /health, which costs next to nothing: its rate and its own CPU time per answer."""
    with running_emulator(options=["--quiet"]) as hive:
        before = time.process_time()
        load = replay(hive.endpoint, [b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"], seconds)
        return load.rate, (time.process_time() - before) / load.answers


def show(rows: list[Row]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("work", "moto", "hive", "ratio", "reach", "", "by CPU time")
    for row in rows:
        table.add_row(row.work, row.moto, row.hive, row.result, row.reach, "yes" if row.reached else "NO", row.cpu)
    Console(width=120).print(table)


def main() -> int:
    """Measure, print, and with ``--check`` judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=9.0, help="per measurement and side")
    parser.add_argument("--check", action="store_true", help="fail when a number is not reached")
    arguments = parser.parse_args()

    rate, own = tool_alone(arguments.seconds)
    print(f"The load tool against /health: {rate:,.0f} requests a second, {own * 1e6:.0f} µs of its own for each.")
    print(f"In both stores: {VPCS} VPCs, {INSTANCES} instances; 8 connections.")
    print(f"CreateTags: one tag on one of {TAGGED} VPCs, another value each round; Hive's are synced to disk first.")
    rows = compare(arguments.seconds) + at_size(arguments.seconds)
    show(rows)
    return 1 if arguments.check and not all(row.reached for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
