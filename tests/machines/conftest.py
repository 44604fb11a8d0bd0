"""Real machines and networks. Everything has the test process's id in its name, and is removed by that name."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from machines import requirements, rootfs
from machines.host import MachineHost
from machines.network import End, Link, NamespacePlan, NetworkPlan, Route
from machines.reconcile import Reconciler
from machines.spec import Login, MachineSpec

HOST, GUEST = "203.0.113.253", "203.0.113.254"  # a range for documentation: nobody else has it


@pytest.fixture(autouse=True, scope="session")
def can_run():
    if reason := requirements.problem():
        pytest.skip(reason)
    if not (rootfs.default_cache() / "debian-12").exists():
        pytest.skip("the root file system isn't built: make machines")


@pytest.fixture(scope="session")
def key(tmp_path_factory):
    path = tmp_path_factory.mktemp("key") / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


@pytest.fixture
def host():
    """An empty host; what a test leaves is removed, and that nothing is left is part of every test."""
    with tempfile.TemporaryDirectory(prefix="machines-") as folder:
        found = MachineHost(f"t{os.getpid()}", Path(folder))
        network = Reconciler(found.prefix)
        try:
            yield found
        finally:
            for name in found.names():
                found.remove(name)
            network.remove()
            until = time.monotonic() + 10  # a veth goes a moment after the namespace of its other end
            while found.leftovers() and time.monotonic() < until:
                time.sleep(0.05)
            assert found.leftovers() == []


@pytest.fixture
def namespace(host):
    """A network namespace that one link joins to this computer."""
    name, device = f"{host.prefix}-m", f"{host.prefix}h"
    inside = NamespacePlan(
        addresses=frozenset({("eth0", f"{GUEST}/30")}), routes=frozenset({Route("0.0.0.0/0", "eth0", HOST)})
    )
    outside = NamespacePlan(addresses=frozenset({(device, f"{HOST}/30")}))
    link = Link(End(name, "eth0", "02:00:00:00:00:01"), End(None, device))
    Reconciler(host.prefix).apply(NetworkPlan({name: inside}, frozenset({link}), outside))
    return name


@pytest.fixture
def spec(namespace, key):
    """A small machine with somebody who may log in."""
    login = Login("admin", (Path(f"{key}.pub").read_text().strip(),))
    image = (rootfs.default_cache() / "debian-12").resolve()
    return MachineSpec("m1", image, namespace, "m1.test", 512 * 1024**2, 1.0, 64 * 1024**2, login)


@pytest.fixture
def ssh(key):
    """Run a command over SSH; waits until the machine answers."""

    def run(command, timeout=20.0):
        words = ["ssh", "-i", str(key), "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
        words += ["-o", "ConnectTimeout=2", "-o", "LogLevel=ERROR", f"admin@{GUEST}", command]
        done = None
        for _ in range(int(timeout * 5)):
            done = subprocess.run(words, capture_output=True, text=True, timeout=60)
            if done.returncode != 255:
                return done
            subprocess.run(["sleep", "0.2"], check=True)
        raise AssertionError(done.stderr)

    return run
