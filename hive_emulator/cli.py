"""The command line: ``hive-emulator serve|env|status|reset|snapshot``."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hive_emulator.hooks import EVENTS

if TYPE_CHECKING:
    from hive_emulator.config import CloudConfig
    from hive_emulator.faults import Fault

_DATA_DIR = "~/.hive-emulator"


class UsageError(Exception):
    """Something given can't be used; the text says what was expected."""


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    root = argparse.ArgumentParser(prog="hive-emulator", description="Hive's AWS-compatible endpoint on your desk.")
    commands = root.add_subparsers(dest="command", required=True)
    _add_serve(commands.add_parser("serve", help="run the endpoint until it is stopped"))
    commands.add_parser("env", help='print the exports for a shell: eval "$(hive-emulator env)"')
    commands.add_parser("status", help="show what is there, as a table of resources")
    commands.add_parser("reset", help="delete everything in every account and region")
    snapshot = commands.add_parser("snapshot", help="save everything to a file, or load it back")
    snapshot.add_argument("what", choices=["save", "load"])
    snapshot.add_argument("file", type=Path)
    for command in commands.choices.values():
        command.add_argument(
            "--data-dir", type=Path, default=Path(_DATA_DIR), help=f"keys, CA and records (default: {_DATA_DIR})"
        )
    return root


def _add_serve(serve: argparse.ArgumentParser) -> None:
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=9999, help="0 picks a free one (default: %(default)s)")
    serve.add_argument("--http", action="store_true", help="plain HTTP instead of HTTPS")
    serve.add_argument("--store", default="embedded", metavar="embedded|memory|nats://HOST:PORT")
    serve.add_argument("--account", help="the first account's 12 digits")
    serve.add_argument("--faults", type=Path, metavar="FILE", help="faults on purpose: a JSON list")
    serve.add_argument(
        "--capacity", action="append", default=[], metavar="TYPE=N", help="at most N instances of a type per region"
    )
    serve.add_argument(
        "--quota", action="append", default=[], metavar="NAME=N", help="an account's quota; aws: all of AWS's"
    )
    for event in EVENTS:
        serve.add_argument(f"--on-{event}", metavar="CMD", help=f"run with the instance as JSON at {event}")
    serve.add_argument("--quiet", action="store_true", help="no access log")


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    arguments = parser().parse_args(argv)
    arguments.data_dir = arguments.data_dir.expanduser().absolute()
    try:
        if arguments.command == "serve":
            return _serve(arguments)
        from hive_emulator import remote

        return getattr(remote, arguments.command)(arguments)
    except Exception as error:
        if type(error).__name__ not in _EXPECTED:
            raise
        print(f"hive-emulator: {error}", file=sys.stderr)
        return 1


# Errors whose text is for the user. By name, so that a command does not import what it does not need.
_EXPECTED = ("UsageError", "KeysError", "StoreFailed", "RemoteError")


def _serve(arguments: argparse.Namespace) -> int:
    from hive_emulator.faults import FaultsError

    try:
        from hive_emulator.serve import Options, run
    except ModuleNotFoundError as error:
        extra = "pip install '.[emulator]' in a checkout of Saltform"
        raise UsageError(f"the Python package {error.name} is not installed here: {extra}") from error
    if not 0 <= arguments.port <= 65535:
        raise UsageError(f"--port is {arguments.port}, expected 0 to 65535")
    if not arguments.host:
        raise UsageError("--host is empty, expected an address such as 127.0.0.1")
    try:
        return run(
            Options(
                host=arguments.host,
                port=arguments.port,
                http=arguments.http,
                data_dir=arguments.data_dir,
                store=arguments.store,
                config=_config(arguments),
                faults=_faults(arguments),
                quiet=arguments.quiet,
            )
        )
    except FaultsError as error:
        raise UsageError(f"--faults {arguments.faults}: {error}") from error
    except OSError as error:
        raise UsageError(f"--data-dir {arguments.data_dir} can't be used: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(str(error)) from error


def _config(arguments: argparse.Namespace) -> CloudConfig:
    from hive_emulator.config import CloudConfig
    from hive_emulator.ec2 import limits
    from hive_emulator.hooks import Hooks

    given = {event: getattr(arguments, f"on_{event}") for event in EVENTS}
    commands = {event: _command(event, text) for event, text in given.items() if text is not None}
    account = arguments.account
    if account is not None and not (account.isascii() and account.isdigit() and len(account) == 12):
        raise UsageError(f"--account is '{account}', expected 12 digits")
    return CloudConfig(
        account=account,
        capacity=limits.capacity(_numbers("--capacity", "t3.micro=2", arguments.capacity)),
        quotas=_quotas(arguments.quota),
        hooks=Hooks(commands) if commands else None,
    )


def _quotas(given: list[str]) -> dict[str, int]:
    from hive_emulator.ec2 import limits

    numbers = limits.quotas(_numbers("--quota", "vpcs=5", [each for each in given if each != "aws"]))
    return {**limits.AWS_NUMBERS, **numbers} if "aws" in given else numbers


def _command(event: str, text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--on-{event} is {text!r}, which is no command: {error}") from None
    if not words:
        raise UsageError(f"--on-{event} is empty, expected a command")
    return words


def _numbers(option: str, example: str, given: list[str]) -> dict[str, int]:
    found = {}
    for each in given:
        name, _, number = each.partition("=")
        if not name or not number.isdigit():
            raise UsageError(f"{option} is '{each}', expected something like {option} {example}")
        found[name] = int(number)
    return found


def _faults(arguments: argparse.Namespace) -> list[Fault]:
    from hive_emulator import faults

    if arguments.faults is None:
        return []
    try:
        return faults.read(arguments.faults.read_bytes())
    except OSError as error:
        raise UsageError(f"--faults {arguments.faults}: {error.strerror}") from error


if __name__ == "__main__":
    sys.exit(main())
