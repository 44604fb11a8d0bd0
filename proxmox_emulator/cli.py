"""The command line: `proxmox-emulator serve`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    from proxmox_emulator import faults
    from proxmox_emulator.config import EmulatorConfig, parse_node
    from proxmox_emulator.serve import Options, run

    parser = argparse.ArgumentParser(prog="proxmox-emulator", description="Proxmox VE's API on your desk.")
    serve = parser.add_subparsers(dest="command", required=True).add_parser("serve", help="run until it is stopped")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=8006, help="0 picks a free one (default: %(default)s)")
    serve.add_argument("--data-dir", type=Path, default=Path("~/.proxmox-emulator"))
    serve.add_argument("--node", action="append", metavar="NAME[=CORES,GIB,GIB]", help="a node; may be repeated")
    serve.add_argument("--images", type=Path, help="files below it can be downloaded by file://")
    serve.add_argument("--faults", type=Path, metavar="FILE", help="faults on purpose: a JSON list")
    serve.add_argument("--quiet", action="store_true", help="no access log")
    given = parser.parse_args(argv)
    try:
        config = EmulatorConfig(given.data_dir.expanduser().absolute(), images=given.images)
        if given.node:
            config.nodes = [parse_node(text) for text in given.node]
        listed = faults.read(given.faults.read_bytes()) if given.faults else []
        return run(Options(given.host, given.port, config, listed, given.quiet))
    except (OSError, ValueError) as error:
        print(f"proxmox-emulator: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
