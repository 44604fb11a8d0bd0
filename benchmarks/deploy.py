"""First deploy and no-op deploy of N small components: the engine beside a plain pool of terraform, in one run.

    python benchmarks/deploy.py [--components 100] [--parallelism 4]

The plain pool is the ideal order with nothing around it: `terraform init` and `terraform apply -auto-approve` for
each component, the same binary, the same number at once. Where `terragrunt` is on the PATH it runs the same set.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from saltform.config import Settings
from saltform.engine.services import Services
from saltform.process import RealProcesses
from saltform.terraform.binary import find
from saltform.verbs.deploy import deploy

MODULE = """
variable "name" { type = string }
resource "terraform_data" "this" { input = var.name }
output "id" { value = terraform_data.this.id }
"""


def pillar_of(count: int, parallelism: int) -> dict:
    components = {f"c{index:04}": {"module": "small", "variables": {"name": f"c{index}"}} for index in range(count)}
    return {
        "infrastructure": {
            "defaults": {"parallelism": parallelism},
            "environments": {"bench": {"components": components}},
        }
    }


def engine(folder: Path, count: int, parallelism: int) -> float:
    services = Services(
        Settings(folder / "state", (folder / "modules",)), pillar_of(count, parallelism), author="bench"
    )
    began = time.perf_counter()
    returned = deploy(services, "bench", {})
    seconds = time.perf_counter() - began
    services.close()
    assert returned["retcode"] == 0, returned
    return seconds


def plain_pool(folder: Path, count: int, parallelism: int, binary: tuple[str, ...]) -> float:
    env = {"PATH": os.environ["PATH"], "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1", "HOME": str(folder)}
    env["TF_CLI_CONFIG_FILE"] = str(folder / "empty.tfrc")
    (folder / "empty.tfrc").write_text("")
    for index in range(count):
        home = folder / f"c{index}"
        home.mkdir()
        (home / "module").mkdir()
        (home / "module" / "main.tf").write_text(MODULE)
        call = {"module": {"main": {"source": "./module", "name": f"c{index}"}}}
        call["output"] = {"id": {"value": "${module.main.id}"}}
        (home / "main.tf.json").write_text(json.dumps(call))

    def one(index: int) -> None:
        for words in (["init", "-input=false"], ["apply", "-auto-approve", "-input=false"]):
            subprocess.run([*binary, *words], cwd=folder / f"c{index}", env=env, check=True, capture_output=True)

    began = time.perf_counter()
    with ThreadPoolExecutor(parallelism) as pool:
        list(pool.map(one, range(count)))
    return time.perf_counter() - began


def terragrunt(folder: Path, count: int, parallelism: int, binary: str) -> tuple[float, float]:
    for index in range(count):
        unit = folder / f"c{index}"
        unit.mkdir(parents=True)
        (unit / "main.tf").write_text(MODULE)
        (unit / "terragrunt.hcl").write_text(f'inputs = {{ name = "c{index}" }}\n')
    env = dict(os.environ) | {"CHECKPOINT_DISABLE": "1", "TG_TF_PATH": binary, "TG_NON_INTERACTIVE": "true"}
    words = ["terragrunt", "run", "--all", "--parallelism", str(parallelism), "apply", "--", "-auto-approve"]
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        subprocess.run(words, cwd=folder, env=env, check=True, capture_output=True)
        seconds.append(time.perf_counter() - began)
    return seconds[0], seconds[1]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--components", type=int, default=100)
    parser.add_argument("--parallelism", type=int, default=4)
    parser.add_argument("--engine-only", action="store_true", help="no plain pool: for memory at 1,000 components")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "modules" / "small").mkdir(parents=True)
        (folder / "modules" / "small" / "main.tf").write_text(MODULE)
        binary = find("auto", cache_dir=folder / "cache", processes=RealProcesses())
        size = (given.components, given.parallelism)
        print(f"{given.components} components, {given.parallelism} at once, {binary.product} {binary.version}")
        first = engine(folder, *size)
        noop = min(engine(folder, *size) for _ in range(5))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"engine: first deploy {first:.2f} s, no-op deploy {noop * 1000:.0f} ms, peak memory {peak:.0f} MB")
        if given.engine_only:
            return
        (folder / "pool").mkdir()
        pool = plain_pool(folder / "pool", *size, binary.path)
        shutil.rmtree(folder / "state")
        again = engine(folder, *size)
        print(f"plain pool of init + apply: {pool:.2f} s")
        print(f"first deploy / plain pool: {min(first, again) / pool:.2f} (reach: ≤1.25)")
        if shutil.which("terragrunt"):
            grunt, grunt_noop = terragrunt(folder / "grunt", *size, binary.path[0])
            print(f"terragrunt run --all: first {grunt:.2f} s, no-op {grunt_noop:.2f} s")
            print(f"first deploy / terragrunt: {min(first, again) / grunt:.2f} (reach: <1)")


if __name__ == "__main__":
    sys.exit(main())
