"""`make demo KEEP=1` as a newcomer runs it: every step goes well, the shell works, and nothing is left afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cluster import ROOT

LIMIT = 900  # a busy machine; a quiet one needs two minutes


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    home = tmp_path_factory.mktemp("demo") / "d"
    command = [sys.executable, "-m", "demo", "--home", str(home)]
    done = subprocess.run([*command, "run", "--keep"], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT)
    try:
        yield home, done
    finally:
        subprocess.run([*command, "stop"], cwd=ROOT, check=True, timeout=120)
    left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if str(home).encode() in _read(path)]
    assert not left, [_read(path) for path in left]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def shell(home: Path, line: str) -> str:
    words = ["bash", "-c", f"source {home}/env && {line}"]
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=LIMIT).stdout


def test_every_step_goes_well(demo):
    home, done = demo
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAILED" not in done.stdout
    assert "unclosed" not in done.stderr
    assert "3 unchanged" in done.stdout
    assert "promote production: 2 applied" in done.stdout
    assert list((home / "reports").glob("*.html"))


def test_after_sourcing_its_environment_salt_and_aws_work_in_a_shell(demo):
    home, _ = demo
    status = json.loads(shell(home, "salt-run infrastructure.status staging --out=json"))
    assert status["components"]["consul"]["status"] == "applied"
    promoted = json.loads(shell(home, "salt-run infrastructure.releases production --out=json"))
    assert {name: item["deployed"] for name, item in promoted["components"].items()} == {
        "networking": True,
        "data": True,
    }
    pillar = json.loads(shell(home, "salt '*' pillar.raw terraform --out=json"))
    address = pillar["demo-minion"]["staging"]["consul"]["address"]
    vpcs = json.loads(shell(home, "aws ec2 describe-instances"))
    found = [item["PrivateIpAddress"] for group in vpcs["Reservations"] for item in group["Instances"]]
    assert address in found
