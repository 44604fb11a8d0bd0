"""python -m demo [--home DIR] run [--keep] | stop"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path

from demo.play import Play
from demo.stage import REPOSITORY, Stage


def main() -> int:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("--home", type=Path, default=REPOSITORY / ".demo", help="its folder (default: .demo)")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run").add_argument("--keep", action="store_true")
    commands.add_parser("stop")
    given = parser.parse_args()
    stage = Stage(given.home.absolute())
    if given.command == "stop":
        names = stage.servers.running()
        stage.down()
        print(f"stopped: {', '.join(names)}" if names else "nothing was running")
        return 0
    return run(stage, given.keep)


def run(stage: Stage, keep: bool) -> int:
    if stage.servers.running():
        print(f"the demo is running already ({', '.join(stage.servers.running())}): make demo-stop ends it")
        return 1
    stage.down()  # what a demo that was killed has left
    # A terminal that is closed, or a `kill`, must not leave servers behind.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(143))
    began = time.monotonic()
    play = Play(stage, keep)
    try:
        print(
            "Starting a salt-master, a minion, Hive's emulator and a Vault server on free loopback ports …",
            flush=True,
        )
        stage.up()
        play.all()
    except KeyboardInterrupt:
        stage.down()
        print("\ninterrupted")
        return 130
    except BaseException:
        stage.down()
        raise
    if not keep:
        stage.down()
    play.summary(time.monotonic() - began)
    if keep:
        print_kept(stage.home)
    return 0 if play.went_well else 1


def print_kept(home: Path) -> None:
    shown = os.path.relpath(home)
    print(f"\nEverything is still running. In your shell:\n\n    source {shown}/env\n")
    print("    salt-run infrastructure.status staging\n    salt '*' pillar.raw terraform")
    print("    aws ec2 describe-vpcs\n")
    print("make demo-stop ends it.")


if __name__ == "__main__":
    sys.exit(main())
