"""A drift check of N unchanged components beside a plain pool of `terraform plan -refresh-only`, in one run.

    python benchmarks/drift.py             100 components, memory over 1,000 checks
    python benchmarks/drift.py --quick     20 components, memory over 100 checks: a run's own cost weighs more

The plain pool works in the workspaces that the engine has left, so that neither pays for an `init`; both use the same
binary, the same number at once, and are measured in turns. Memory is looked at over many checks of one component.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from saltform.config import Settings
from saltform.engine.services import Services
from saltform.process import RealProcesses
from saltform.terraform.binary import find
from saltform.verbs.deploy import deploy
from saltform.verbs.drift import drift

MODULE = """
variable "name" { type = string }
resource "terraform_data" "this" { input = var.name }
output "id" { value = terraform_data.this.id }
"""


def services(folder: Path, count: int, parallelism: int) -> Services:
    components = {f"c{index:04}": {"module": "small", "variables": {"name": f"c{index}"}} for index in range(count)}
    environments = {"bench": {"components": components, "parallelism": parallelism}}
    return Services(
        Settings(folder / "state", (folder / "modules",)), {"infrastructure": {"environments": environments}}
    )


def engine(folder: Path, count: int, parallelism: int, **options: object) -> float:
    made = services(folder, count, parallelism)
    began = time.perf_counter()
    returned = drift(made, "bench", options)
    seconds = time.perf_counter() - began
    made.close()
    assert returned["retcode"] == 0, returned
    return seconds


def plain_pool(folder: Path, count: int, parallelism: int, binary: tuple[str, ...]) -> float:
    env = {"PATH": os.environ["PATH"], "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1", "HOME": str(folder)}
    words = [*binary, "plan", "-refresh-only", "-input=false", "-lock=false", "-detailed-exitcode", "-out=.plain"]

    def one(index: int) -> None:
        home = folder / "state" / "workspaces" / "bench" / f"c{index:04}"
        subprocess.run(words, cwd=home, env=env, check=True, capture_output=True)

    began = time.perf_counter()
    with ThreadPoolExecutor(parallelism) as pool:
        list(pool.map(one, range(count)))
    return time.perf_counter() - began


def with_cpu(work: Callable[..., float], *given: object) -> tuple[float, float]:
    """Seconds by the clock, and of CPU with all that was started: on a busy machine that one says more."""
    before = os.times()
    seconds = work(*given)
    return seconds, sum(os.times()[:4]) - sum(before[:4])


def memory() -> float:
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    return int(fields["VmRSS"].split()[0]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller than what is to be reached")
    parser.add_argument("--components", type=int)
    parser.add_argument("--parallelism", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--checks", type=int, help="checks for the look at memory; 0 leaves it out")
    given = parser.parse_args()
    given.components = given.components or (20 if given.quick else 100)
    given.checks = (100 if given.quick else 1000) if given.checks is None else given.checks
    size = (given.components, given.parallelism)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "modules" / "small").mkdir(parents=True)
        (folder / "modules" / "small" / "main.tf").write_text(MODULE)
        binary = find("auto", cache_dir=folder / "cache", processes=RealProcesses())
        made = services(folder, *size)
        with contextlib.redirect_stderr(io.StringIO()):
            assert deploy(made, "bench", {})["retcode"] == 0
        made.close()
        rounds = [
            (with_cpu(engine, folder, *size), with_cpu(plain_pool, folder, *size, binary.path))
            for _ in range(given.rounds)
        ]
        (checked, pool), (ours, theirs) = (
            [min(each[which] for each in side) for side in zip(*rounds, strict=True)] for which in (0, 1)
        )
        print(f"{size[0]} components, {size[1]} at once: check {checked:.2f} s, plain pool {pool:.2f} s")
        print(f"check / plain pool: {checked / pool:.2f} (reach: ≤1.1), of CPU time {ours / theirs:.2f}")
        if given.checks:
            engine(folder, given.components, given.parallelism)
            before = memory()
            times = max(1, given.checks // given.components)
            for _ in range(times):
                engine(folder, *size)
            more = times * given.components
            print(f"memory before and after {more} more checks: {before:.0f} MB, {memory():.0f} MB (reach: flat)")


if __name__ == "__main__":
    main()
