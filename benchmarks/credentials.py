"""What credentials cost: requests to Vault, a deploy with secrets from it, and masking a large log.

    python benchmarks/credentials.py [--components 100] [--paths 5] [--megabytes 100] [--rounds 3]

Every number stands beside what it is compared to, measured in the same run, in turns; on a busy machine the best of
each says more than the median. Vault is a real OpenBao server.
Reach: one login and one read for each distinct path; 1.1 times a run with credentials from the environment; masking
at most 5 % of a log's throughput.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Set
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from saltform.config import Settings  # noqa: E402
from saltform.config.types import Component, CredentialSource, Provider  # noqa: E402
from saltform.credentials.lender import Lender  # noqa: E402
from saltform.credentials.masking import Masker  # noqa: E402
from saltform.credentials.vault_login import VaultLogin  # noqa: E402
from saltform.engine.services import Services  # noqa: E402
from saltform.process import RealProcesses  # noqa: E402
from saltform.terraform.binary import Binary  # noqa: E402
from saltform.terraform.session import Session, unmasked  # noqa: E402
from saltform.terraform.stream import run_stream  # noqa: E402
from saltform.verbs.deploy import deploy  # noqa: E402
from tests.support.openbao import OpenBao, dev_server  # noqa: E402

KEYS = {"AWS_ACCESS_KEY_ID": "AKIABENCHMARK0000001", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLE"}
MODULE = 'variable "psk" { type = string }\nresource "terraform_data" "this" { triggers_replace = sha256(var.psk) }\n'
Masking = tuple[Callable[[str], str], Callable[[bytes], Set[int]]]  # of a line, and which of many have to be
LINE = (
    '{"@level":"info","@message":"aws_instance.node[%d]: Still creating... [%ds elapsed]","@module":"terraform.ui",'
    '"hook":{"resource":{"addr":"aws_instance.node","resource_type":"aws_instance","resource_name":"node"},'
    '"action":"create","elapsed_seconds":10},"type":"apply_progress"}'
)


def requests_to_vault(bao: OpenBao, components: int, paths: int) -> None:
    """A hundred components, several at once, on a few paths."""
    role_id, secret_id = bao.approle("bench", 'path "secret/*" { capabilities = ["read"] }')
    for number in range(paths):
        bao.client().secrets.kv.v2.create_or_update_secret(f"bench/{number}", KEYS)
    auth = {"method": "approle", "role_id": role_id, "secret_id": secret_id}
    asked: list[str] = []
    original = VaultLogin._try
    VaultLogin._try = lambda self, c, m, path, *rest: (asked.append(path), original(self, c, m, path, *rest))[1]
    began = time.perf_counter()
    with Lender(vault={"address": bao.address, "auth": auth}, environ={}) as lender, ThreadPoolExecutor(8) as pool:

        def lend(number: int) -> None:
            source = CredentialSource("vault", {"path": f"secret/bench/{number % paths}"}, "bench")
            provider = Provider("p", "aws", credentials=(source,))
            with lender.lend(Component("bench", f"c{number}", "m", provider=provider)) as loan:
                assert loan.environment == KEYS

        list(pool.map(lend, range(components)))
    seconds = time.perf_counter() - began
    VaultLogin._try = original
    logins = sum(path.endswith("/login") for path in asked)
    reads = sum("/data/" in path for path in asked)
    print(f"{components} components on {paths} paths: {logins} login, {reads} reads, {seconds * 1000:.0f} ms in all")
    assert (logins, reads) == (1, paths)


def deploys(bao: OpenBao, components: int, rounds: int) -> None:
    """First and no-op deploy with a secret variable: from Vault, and the same from the environment."""
    bao.client().secrets.kv.v2.create_or_update_secret("bench/psk", {"psk": "a-psk-for-the-benchmark"})
    os.environ["BENCH_PSK"] = "a-psk-for-the-benchmark"
    vault = {"path": "secret/bench/psk"}
    sources = {
        "environment": {"environment": "BENCH_PSK"},
        "vault": {"vault": vault},
        "vault, engine named": {"vault": {**vault, "engine": "kv2"}},
    }
    first: dict[str, list[float]] = {name: [] for name in sources}
    again: dict[str, list[float]] = {name: [] for name in sources}
    for _ in range(rounds):
        for name, source in sources.items():
            with tempfile.TemporaryDirectory() as place:
                first[name].append(_deploy(Path(place), bao, components, source))
                again[name].append(_deploy(Path(place), bao, components, source))
    for what, times in (("first", first), ("no-op", again)):
        _compare(f"{what} deploy of {components}, secrets from", times, "environment")


def _deploy(folder: Path, bao: OpenBao, components: int, source: dict) -> float:
    (folder / "modules" / "small").mkdir(parents=True, exist_ok=True)
    (folder / "modules" / "small" / "main.tf").write_text(MODULE)
    each = {"module": "small", "secret_variables": {"psk": source}}
    infrastructure = {
        "vault": {"address": bao.address, "auth": {"token": bao.root}},
        "environments": {"bench": {"components": {f"c{number:03}": each for number in range(components)}}},
    }
    settings = Settings(folder / "state", (folder / "modules",))
    services = Services(settings, {"infrastructure": infrastructure}, author="bench")
    began = time.perf_counter()
    returned = deploy(services, "bench", {})
    seconds = time.perf_counter() - began
    services.close()
    assert returned["retcode"] == 0, returned
    return seconds


def masking(megabytes: int, rounds: int) -> None:
    """A process that prints what `apply -json` prints, read, parsed and written to its log as the engine does it.

    One line in a thousand has a secret in it.
    """
    masker = Masker([*KEYS.values(), "another-secret-of-this-run", "-----BEGIN-----\n" + "k" * 64])
    ways: dict[str, Masking] = {"as it is": (unmasked, _no_lines), "masked": (masker.line, masker.find_lines)}
    times: dict[str, list[float]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        lines = (LINE % (number, number) for number in range(5000))
        secret = KEYS["AWS_SECRET_ACCESS_KEY"]
        block = "".join(f"{line if at % 1000 else line.replace('node', secret)}\n" for at, line in enumerate(lines))
        with (folder / "source").open("w") as file:
            for _ in range(megabytes * 1_000_000 // len(block)):
                file.write(block)
        for _ in range(rounds):
            for name, masking in ways.items():
                times[name].append(_log(folder, masking))
    _compare(f"log of {megabytes} MB, CPU time", times, "as it is")


def _no_lines(_block: bytes) -> Set[int]:
    return frozenset()


def _log(folder: Path, masking: Masking) -> float:
    """CPU seconds of this process: others that are busy don't stretch them."""
    with (folder / "log").open("w", buffering=1) as log:
        binary = Binary(("cat",), "terraform", "1.11.4")
        write = partial(print, file=log)
        mask, find_lines = masking
        environment = {"PATH": os.environ["PATH"]}
        session = Session(binary, folder, environment, RealProcesses(), write, threading.Event(), "c", mask=mask)
        session = dataclasses.replace(session, find_lines=find_lines)
        began = time.process_time()
        run_stream(session, ["source"], lambda event: None)
        return time.process_time() - began


def _compare(what: str, times: dict[str, list[float]], base: str) -> None:
    for name, measured in times.items():
        median, best = statistics.median(measured), min(measured)
        ratios = f"{median / statistics.median(times[base]):5.2f}×, best of each {best / min(times[base]):5.2f}×"
        print(f"{what} {name:22} median {median:7.3f} s   {ratios}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--components", type=int, default=100)
    parser.add_argument("--paths", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, dev_server(Path(place)) as bao:
        requests_to_vault(bao, given.components, given.paths)
        deploys(bao, given.components, given.rounds)
    masking(given.megabytes, given.rounds)


if __name__ == "__main__":
    main()
