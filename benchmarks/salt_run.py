"""A no-op deploy of 100 components through `salt-run` with a master, beside a `salt-run` that does nothing.

python benchmarks/salt_run.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.deploy import MODULE, pillar_of
from demo.servers import Servers, answers, free_port

BIN = Path(sys.executable).parent
ROUNDS = 7


def start_master(home: Path) -> None:
    port = free_port()
    (home / "etc").mkdir()
    (home / "pillar").mkdir()
    (home / "modules" / "small").mkdir(parents=True)
    (home / "modules" / "small" / "main.tf").write_text(MODULE)
    (home / "pillar" / "top.sls").write_text("base: {'*_master': [infrastructure]}\n")
    (home / "pillar" / "infrastructure.sls").write_text(yaml.safe_dump(pillar_of(100, 4)))
    master = {
        "id": "bench_master",
        "interface": "127.0.0.1",
        "ret_port": port,
        "publish_port": free_port(),
        "root_dir": str(home / "salt"),
        "sock_dir": str(home / "s"),
        "pillar_roots": {"base": [str(home / "pillar")]},
        "worker_threads": 3,
        "saltform": {"state_dir": str(home / "state"), "modules": [str(home / "modules")]},
    }
    (home / "etc" / "master").write_text(yaml.safe_dump(master))
    servers = Servers(home)
    servers.start("master", [str(BIN / "salt-master"), "-c", str(home / "etc"), "-l", "warning"])
    servers.wait_for("salt-master", lambda: answers(port), "master")


def salt_run(home: Path, *words: str) -> float:
    began = time.perf_counter()
    argv = [str(BIN / "salt-run"), "-c", str(home / "etc"), *words]
    done = subprocess.run(argv, capture_output=True, text=True, env=dict(os.environ), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return time.perf_counter() - began


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="sb-") as name:
        home = Path(name)
        try:
            start_master(home)
            salt_run(home, "infrastructure.deploy", "bench")
            # In turns, so that whatever else the machine does hits both alike.
            pairs = [
                (salt_run(home, "test.arg"), salt_run(home, "infrastructure.deploy", "bench")) for _ in range(ROUNDS)
            ]
        finally:
            Servers(home).stop()
    nothing, noop = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(f"salt-run that does nothing: {nothing:.2f} s; no-op deploy of 100 components: {noop:.2f} s")
    print(f"no-op deploy / nothing: {noop / nothing:.2f} (reach: ≤1.3)")


if __name__ == "__main__":
    main()
