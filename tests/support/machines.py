"""What stands behind an emulator's instances: a salt-minion for each, started from its user data and ended with it.

Run by the emulator as `--on-launch` and `--on-terminate`, with a folder as argument: the instance is on stdin.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml


def configuration(user_data: str) -> dict[str, Any]:
    """The minion's, as cloud-init takes it from the user data that terraform/modules make."""
    parts = map(yaml.safe_load, yaml.safe_load(user_data))
    minion = next(part["salt_minion"] for part in parts if "salt_minion" in part)
    return {**minion["conf"], "grains": minion["grains"]}


def launch(folder: Path, settings: Mapping[str, Any]) -> None:
    """Where a minion's files are, and how it waits, is this machine's business; so is what its image says of it."""
    for name in ("etc", "pki", "cache", "run"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    places = {
        "root_dir": str(folder),
        "pki_dir": str(folder / "pki"),
        "cachedir": str(folder / "cache"),
        "sock_dir": str(folder / "run"),
        "pidfile": str(folder / "run" / "minion.pid"),
        "log_file": str(folder / "minion.log"),
        "conf_file": str(folder / "etc" / "minion"),
    }
    image = {
        "acceptance_wait_time": 1,
        "enable_fqdns_grains": False,
        "grains": {"role": "host", **settings["grains"]},
    }
    (folder / "etc" / "minion").write_text(yaml.safe_dump({**settings, **places, **image}))
    with (folder / "output").open("ab") as output:
        minion = subprocess.Popen(
            [str(Path(sys.executable).parent / "salt-minion"), "-c", str(folder / "etc")],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    (folder / "pid").write_text(str(minion.pid))


def terminate(folder: Path) -> None:
    """The machine is gone: no good-byes. Its session has nothing else in it."""
    try:
        pid = int((folder / "pid").read_text())
        os.killpg(pid, signal.SIGKILL)
    except (OSError, ValueError):
        return
    end = time.monotonic() + 120
    while time.monotonic() < end and _lives(pid):
        time.sleep(0.05)
    (folder / "pid").unlink(missing_ok=True)


def _lives(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    machines = Path(sys.argv[1])
    instance = json.load(sys.stdin)
    here = machines / instance["InstanceId"]
    if os.environ["HIVE_EVENT"] == "launch":
        launch(here, configuration(base64.b64decode(instance["UserData"]).decode()))
    else:
        terminate(here)
