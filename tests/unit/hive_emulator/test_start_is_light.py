"""What a start must not import: each of these costs a tenth of a second or more, and is needed seldom or never."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("botocore", "boto3", "salt", "rich", "prometheus_client", "nats", "cryptography", "moto", "saltform")


def test_serving_imports_nothing_heavy() -> None:
    code = "import sys, hive_emulator.cli, hive_emulator.serve as serve; serve.load_actions(); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in ran.stdout.split()}
    assert not loaded & set(HEAVY)
