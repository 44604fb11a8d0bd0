"""A hostile minion makes its messages by hand: under the name of one that may ask for runs it gets nothing."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import salt.config
import salt.crypt
import salt.wheel

from tests.support.cluster import HOME, Cluster, Ended, wait_for

ROGUE = "rogue.example.org"
NONCE = "n-0123456789abcdef"
CONFIRM = "saltform_request.confirm"


@pytest.fixture(scope="module")
def rogue_folder(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration of a minion of this master, with a key of its own."""
    master = salt.config.master_config(str(cluster.master_config / "master"))
    client = salt.wheel.WheelClient(dict(master))
    key = client.cmd("key.gen_accept", [ROGUE], print_event=False)
    getattr(client, "destroy", int)()
    folder = tmp_path_factory.mktemp("rogue")
    (folder / "pki").mkdir()
    for name in ("pem", "pub"):
        path = folder / "pki" / f"minion.{name}"
        path.write_text(key["priv" if name == "pem" else "pub"])
        path.chmod(0o400)
    home = salt.config.minion_config(str(cluster.minion_config / "minion"))
    settings = {
        "id": ROGUE,
        "root_dir": str(folder),
        "pki_dir": str(folder / "pki"),
        "cachedir": str(folder / "cache"),
        "sock_dir": str(folder / "s"),
        "log_file": str(folder / "log"),
        "master": "127.0.0.1",
        "master_port": home["master_port"],
        "enable_fqdns_grains": False,
    }
    (folder / "minion").write_text(json.dumps(settings))
    return folder


@pytest.fixture(scope="module")
def rogue(cluster: Cluster, rogue_folder: Path) -> Callable[..., Ended]:
    """That minion can do whatever `salt-call` can."""

    def call(*words: str) -> Ended:
        return cluster.run("salt-call", "--out=json", "-c", str(rogue_folder), *words)

    return call


def forged(data: dict[str, Any], identity: str = HOME, verb: str = "deploy", times: int = 1) -> list[str]:
    """A message with events in it, each with the id that its sender chose."""
    event = {"tag": f"saltform/request/{verb}", "data": {"id": identity, "data": data}}
    return ["event.fire_master", "{}", "x", f"preload={json.dumps({'events': [event] * times})}"]


@pytest.fixture
def listed(cluster: Cluster) -> Iterator[int]:
    """The list is known to this master; the number of runs of `asked` before."""
    assert cluster.runner("validate", "asked").exit_code == 0
    cluster.wait_for_slot()
    yield len(cluster.runs("asked"))
    cluster.ask("data.pop", "saltform_request")


def asked_back(cluster: Cluster, since: float) -> list[float]:
    """When the master asked the minion for its request: the jobs that it got."""
    words = ("salt-run", "jobs.list_jobs", "search_function=saltform_request.*", "--out=json")
    jobs = json.loads(cluster.run(*words).stdout or "{}")
    if not isinstance(jobs, dict):  # Salt's own error: it read a job that was being written
        return []
    started = (time.mktime(time.strptime(job["StartTime"], "%Y, %b %d %H:%M:%S.%f")) for job in jobs.values())
    return [moment for moment in started if moment >= since - 1]


def test_another_minion_that_forges_the_id_gets_nothing_else_and_uses_nothing_up(
    cluster: Cluster, rogue: Callable[..., Ended], listed: int
) -> None:
    """What the minion asks for is one component; whoever forges its id knows even its nonce and wants all."""
    digest = hashlib.sha256("\n".join(("deploy", "asked", "base", NONCE)).encode()).hexdigest()
    cluster.ask("data.update", "saltform_request", digest)
    guarded = len(cluster.runs("asked-guarded"))
    for verb, data in (
        ("deploy", {"environment": "asked", "nonce": NONCE}),
        ("deploy", {"environment": "asked-guarded", "components": "base", "nonce": NONCE}),
    ):
        cluster.wait_for_slot()
        began = time.time()
        assert rogue(*forged(data, verb=verb)).exit_code == 0
        wait_for(lambda began=began: asked_back(cluster, began))
        time.sleep(2)
    assert len(cluster.runs("asked")) == listed
    assert len(cluster.runs("asked-guarded")) == guarded
    assert cluster.ask("data.get", "saltform_request")[0] == digest
    cluster.wait_for_slot()
    # Its own event still gets through.
    cluster.ask("event.send", "saltform/request/deploy", environment="asked", components="base", nonce=NONCE)
    run = wait_for(lambda: next(iter(cluster.runs("asked")[: len(cluster.runs("asked")) - listed]), None))
    assert run["author"] == f"minion {HOME}"
    assert cluster.ask("data.get", "saltform_request")[0] == f"used {digest}"


def test_a_flood_holds_up_no_reactor_and_starts_two_processes(
    cluster: Cluster, rogue: Callable[..., Ended], listed: int
) -> None:
    """A hundred forged requests at once: another reaction is done meanwhile, and the minion is asked a few times."""
    cluster.write_sls("react", {"deploy": {"runner.infrastructure.deploy": [{"args": [{"environment": "reacted"}]}]}})
    before, began = len(cluster.runs("reacted")), time.time()
    data = {"environment": "asked", "components": "base", "nonce": NONCE}
    assert rogue(*forged(data, times=100)).exit_code == 0
    cluster.ask("event.send", "test/deploy")
    wait_for(lambda: len(cluster.runs("reacted")) > before)
    assert len(cluster.runs("asked")) == listed
    slots = sorted(path.name for path in (cluster.state_dir / "requests" / HOME).iterdir())
    assert set(slots) <= {"0", "1", "reserved", "expected"}
    assert len(asked_back(cluster, began)) <= 2 * (1 + (time.time() - began) / 10)


@pytest.mark.parametrize("identity", [ROGUE, "nobody.example.org", "../integration", "*"])
def test_an_id_on_no_list_starts_nothing(
    cluster: Cluster, rogue: Callable[..., Ended], listed: int, identity: str
) -> None:
    data = {"environment": "asked", "components": "base", "nonce": NONCE}
    assert rogue(*forged(data, identity)).exit_code == 0
    time.sleep(3)
    assert not (cluster.state_dir / "requests" / identity).exists()
    assert len(cluster.runs("asked")) == listed
    assert {path.name for path in (cluster.state_dir / "requests").glob("*")} <= {HOME}


def test_what_is_too_long_is_no_request_and_does_not_stop_the_reactor(
    cluster: Cluster, rogue: Callable[..., Ended], listed: int
) -> None:
    path = Path(cluster.folder, "long.json")
    data = {"environment": "asked", "components": ["x" * 100] * 500, "nonce": NONCE}
    path.write_text(json.dumps(data))
    assert rogue(*forged(data)).exit_code == 0
    before = len(cluster.runs("reacted"))
    cluster.write_sls("react", {"deploy": {"runner.infrastructure.deploy": [{"args": [{"environment": "reacted"}]}]}})
    cluster.ask("event.send", "test/deploy")
    wait_for(lambda: len(cluster.runs("reacted")) > before)
    assert len(cluster.runs("asked")) == listed


def test_another_minion_that_also_forges_the_confirmation_gets_nothing(
    cluster: Cluster, rogue: Callable[..., Ended], rogue_folder: Path, listed: int
) -> None:
    """It hears the master's question, as all minions do, and is the first to answer it in the other's name."""
    program = Path(__file__).parents[1] / "support" / "rogue_minion.py"
    digest = hashlib.sha256("\n".join(("deploy", "asked", "", NONCE)).encode()).hexdigest()
    answer = json.dumps({"held": digest, "proof": "0" * 64})
    words = [sys.executable, str(program), str(rogue_folder / "minion"), HOME, CONFIRM, answer]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as answering:
        try:
            assert answering.stdout is not None
            assert answering.stdout.readline() == "listening\n"
            time.sleep(1)
            assert rogue(*forged({"environment": "asked", "nonce": NONCE})).exit_code == 0
            assert answering.stdout.readline() == f"answered {CONFIRM}\n"
            time.sleep(10)
        finally:
            answering.terminate()
    assert len(cluster.runs("asked")) == listed
