"""``kill -9`` at random moments under load: what was acknowledged is there afterwards, and nothing is there by half.

Writers make and delete VPCs (each with its route table, security group, rules and network ACL, in one commit) and
note what was acknowledged. Then the emulator is killed; with NATS, so is the NATS server. After the restart every
acknowledged VPC is found, every acknowledged deletion is gone, and each VPC that is there is whole.
"""

from __future__ import annotations

import http.client
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from hive_emulator.testing import RunningHive, free_port, start_emulator, start_nats

ROUNDS = 4
WRITERS = 4


@dataclass
class Notes:
    """What was acknowledged, and what was asked for without an answer."""

    made: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)  # deletions without an answer
    requests: int = 0


class Writer(threading.Thread):
    """Makes and deletes VPCs until the connection breaks."""

    def __init__(self, hive: RunningHive, notes: Notes, lock: threading.Lock) -> None:
        super().__init__(daemon=True)
        self._hive, self._notes, self._lock = hive, notes, lock

    def run(self) -> None:
        url = urlsplit(self._hive.endpoint)
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
        mine: list[str] = []
        try:
            while True:
                answer = self._ask(connection, Action="CreateVpc", CidrBlock="10.0.0.0/16")
                id = re.search(r"<vpcId>(vpc-\w+)</vpcId>", answer)[1]
                mine.append(id)
                with self._lock:
                    self._notes.made.add(id)
                if random.random() < 0.4:
                    self._unmake(connection, mine.pop(random.randrange(len(mine))))
        except (OSError, http.client.HTTPException):
            pass  # killed
        finally:
            connection.close()

    def _unmake(self, connection: http.client.HTTPConnection, id: str) -> None:
        with self._lock:
            self._notes.unsure.add(id)
        self._ask(connection, Action="DeleteVpc", VpcId=id)
        with self._lock:
            self._notes.unsure.discard(id)
            self._notes.deleted.add(id)

    def _ask(self, connection: http.client.HTTPConnection, **params: str) -> str:
        body = urlencode({**params, "Version": "2016-11-15"})
        request = AWSRequest("POST", self._hive.endpoint + "/", data=body)
        credentials = Credentials(self._hive.access_key, self._hive.secret_key)
        SigV4Auth(credentials, "ec2", self._hive.region).add_auth(request)
        connection.request("POST", "/", body, dict(request.headers))
        answer = connection.getresponse()
        text = answer.read().decode()
        if answer.status != 200:
            # The NATS server may be gone before the emulator is: that is no acknowledgement.
            raise http.client.HTTPException(text)
        with self._lock:
            self._notes.requests += 1
        return text


def under_load_until_killed(hive: RunningHive, notes: Notes, kill: Callable[[], None]) -> None:
    lock = threading.Lock()
    hive.client("ec2").describe_vpcs()
    writers = [Writer(hive, notes, lock) for _ in range(WRITERS)]
    for writer in writers:
        writer.start()
    before = notes.requests
    deadline = time.monotonic() + 120
    while notes.requests < before + 20 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(random.uniform(0, 0.5))
    kill()
    hive.process.stdout.close()
    for writer in writers:
        writer.join(90)
        assert not writer.is_alive()


def compare(hive: RunningHive, notes: Notes) -> None:
    ec2 = hive.client("ec2")
    found = {vpc["VpcId"] for vpc in ec2.describe_vpcs()["Vpcs"]}
    assert notes.made - notes.deleted - notes.unsure <= found, "acknowledged and lost"
    assert not notes.deleted & found, "deleted and back"
    tables = ec2.describe_route_tables(Filters=[{"Name": "association.main", "Values": ["true"]}])["RouteTables"]
    groups = ec2.describe_security_groups()["SecurityGroups"]
    acls = ec2.describe_network_acls()["NetworkAcls"]
    for parts in (tables, groups, acls):
        assert sorted(part["VpcId"] for part in parts) == sorted(found), "a VPC by half"
    rules = ec2.describe_security_group_rules()["SecurityGroupRules"]
    assert {rule["GroupId"] for rule in rules} == {group["GroupId"] for group in groups}


@pytest.fixture(autouse=True)
def seeded(request: pytest.FixtureRequest) -> None:
    seed = random.randrange(2**32)
    random.seed(seed)
    print(f"seed {seed}")


def test_the_embedded_store_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    notes = Notes()
    for _ in range(ROUNDS):
        hive = start_emulator(tmp_path, store="embedded")
        compare(hive, notes)
        under_load_until_killed(hive, notes, hive.kill)
    hive = start_emulator(tmp_path, store="embedded")
    compare(hive, notes)
    hive.stop()
    hive.process.stdout.close()
    assert notes.requests >= 20 * ROUNDS


# One commit after the other, of records of all sizes, and folded every few of them: a kill meets a fold often.
COUNTING = """
import asyncio, sys
from pathlib import Path
from hive_emulator.store import journal, make_store
from hive_emulator.store.base import Change

journal.SIZE = 8_000

async def main():
    store = make_store("embedded", Path(sys.argv[1]))
    store.fold_after = 12
    await store.open()
    tables = store.state.tables("a", "r")
    n = tables["count"].records["n"]["n"] if "count" in tables else 0
    print(n, *tables["vpc"].records if n else (), flush=True)
    while True:
        n += 1
        new = {"n": n, "text": "x" * (n * 137 % 3_000)}
        changes = [("vpc", f"vpc-{n}", new), ("vpc", f"vpc-{n - 7}", None), ("count", "n", {"n": n})]
        await store.commit([Change("a", "r", *change) for change in changes], lambda: True)
        print(n, flush=True)

asyncio.run(main())
"""


def test_a_kill_while_the_journal_is_folded_loses_nothing_and_leaves_nothing_by_half(tmp_path: Path) -> None:
    acknowledged = 0
    for _ in range(15):
        told = counted_until_killed(tmp_path, lines=1 + random.randrange(60))
        found, *ids = told[0].split()
        assert int(found) in (acknowledged, acknowledged + 1)  # the last one may have missed only its answer
        assert ids == [f"vpc-{n}" for n in range(max(1, int(found) - 6), int(found) + 1)]
        acknowledged = int(told[-1].split()[0])
    assert acknowledged > 15


def counted_until_killed(folder: Path, lines: int) -> list[str]:
    """Everything that the counting said, killed after ``lines`` lines at the earliest."""
    with subprocess.Popen(
        [sys.executable, "-c", COUNTING, str(folder)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            told = [process.stdout.readline() for _ in range(lines)]
        finally:
            process.kill()
        # Not communicate(): with a time-out it does not see what the lines' buffer holds already.
        return [line for line in [*told, *process.stdout.read().splitlines()] if line]


def kill(hive: RunningHive, server: subprocess.Popen[bytes]) -> None:
    server.kill()
    server.wait()
    hive.kill()


@pytest.mark.parametrize("victims", ["emulator", "emulator and server"])
def test_the_nats_store_keeps_what_was_acknowledged(tmp_path: Path, victims: str) -> None:
    notes = Notes()
    port = free_port()
    (tmp_path / "nats").mkdir()
    server = start_nats(tmp_path / "nats", port)
    try:
        for _ in range(ROUNDS):
            hive = start_emulator(tmp_path, store=f"nats://127.0.0.1:{port}")
            compare(hive, notes)

            both = victims == "emulator and server"
            under_load_until_killed(hive, notes, partial(kill, hive, server) if both else hive.kill)
            if both:
                server = start_nats(tmp_path / "nats", port)
        hive = start_emulator(tmp_path, store=f"nats://127.0.0.1:{port}")
        compare(hive, notes)
        hive.stop()
        hive.process.stdout.close()
    finally:
        server.kill()
        server.wait()
    assert notes.requests >= 20 * ROUNDS
