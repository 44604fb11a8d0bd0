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
from pathlib import Path


def launch(folder: Path, user_data: str) -> None:
    """The user data is the minion's configuration; where its files are is this machine's business."""
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
    lines = [f"{name}: {json.dumps(value)}" for name, value in places.items()]
    (folder / "etc" / "minion").write_text("\n".join([user_data, *lines]) + "\n")
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
    end = time.monotonic() + 20
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
        launch(here, base64.b64decode(instance["UserData"]).decode())
    else:
        terminate(here)
