"""The commands that talk to a running emulator: ``env``, ``status``, ``reset``, ``snapshot``.

``serve`` notes its endpoint and the admin token in the data folder; these commands read them there.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shlex
import ssl
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any


class RemoteError(Exception):
    """There is no emulator to talk to, or it refused; the text says what to do."""


def env(arguments: argparse.Namespace) -> int:
    """Print what a shell has to export."""
    from hive_emulator import keys

    folder = arguments.data_dir
    note = _note(folder)
    key = keys.read(folder / "credentials")[0]  # what serve was told is in there
    exports = {
        "AWS_ENDPOINT_URL": note["endpoint"],
        "AWS_REGION": note["region"],
        "AWS_DEFAULT_REGION": note["region"],
        "AWS_ACCESS_KEY_ID": key.access_key,
        "AWS_SECRET_ACCESS_KEY": key.secret,
    }
    if note["endpoint"].startswith("https:"):
        exports["AWS_CA_BUNDLE"] = str(folder / "ca.pem")
    for name, value in exports.items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def status(arguments: argparse.Namespace) -> int:
    """Print a table of what is there."""
    from rich.console import Console
    from rich.table import Column, Table

    said = _call(arguments.data_dir, "GET", "/_hive/status")
    endpoint = _note(arguments.data_dir)["endpoint"]
    if not said["clouds"]:
        print(f"Nothing is there yet on {endpoint}. A default VPC comes with the first call.")
        return 0
    clouds = [(f"{each['account']}\n{each['region']}", Counter(each["records"])) for each in said["clouds"]]
    kinds = sorted({kind for _, records in clouds for kind in records} - {"meta", "client-token"})
    places = (Column(name, overflow="fold") for name, _ in clouds)  # of many regions none is cut short
    table = Table(Column("resource", no_wrap=True), *places, title=endpoint)
    for kind in kinds:
        table.add_row(kind, *(str(records[kind] or "") for _, records in clouds))
    Console().print(table)
    return 0


def reset(arguments: argparse.Namespace) -> int:
    """Delete everything."""
    _call(arguments.data_dir, "POST", "/_hive/reset")
    print("Everything is deleted. A default VPC comes back at the next call.")
    return 0


def snapshot(arguments: argparse.Namespace) -> int:
    """Save everything to a file (0600: it has user data), or load it back."""
    path: Path = arguments.file
    if arguments.what == "save":
        said = _call(arguments.data_dir, "GET", "/_hive/snapshot")
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                os.fchmod(file.fileno(), 0o600)
                json.dump(said, file)
        except OSError as error:
            raise RemoteError(f"{path} can't be written: {error.strerror}") from error
        print(f"{len(said['records'])} records saved to {path}")
        return 0
    try:
        text = path.read_bytes()
    except OSError as error:
        raise RemoteError(f"{path} can't be read: {error.strerror}") from error
    # Packed, a cloud of many thousand instances fits into one request.
    said = _call(arguments.data_dir, "PUT", "/_hive/snapshot", gzip.compress(text, 6), "gzip")
    print(f"{said['loaded']} records loaded from {path}")
    return 0


def _note(folder: Path) -> dict[str, Any]:
    try:
        return json.loads((folder / "endpoint.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):  # ValueError: a start that was cut off while it was written
        raise RemoteError(
            f"no emulator has been started with {folder}: start one with "
            f"'hive-emulator serve --data-dir {folder}', or give its --data-dir"
        ) from None


def _reason(text: str) -> str:
    try:
        return json.loads(text)["error"]
    except (ValueError, KeyError, TypeError):  # something else answers there
        return text[:500]


def _call(folder: Path, method: str, path: str, body: bytes | None = None, encoding: str = "identity") -> Any:
    endpoint = _note(folder)["endpoint"]
    try:
        token = (folder / "admin-token").read_text().strip()
        tls = ssl.create_default_context(cafile=str(folder / "ca.pem")) if endpoint.startswith("https") else None
    except OSError as error:
        raise RemoteError(f"--data-dir {folder} can't be used: {error.strerror}") from error
    headers = {"Authorization": f"Bearer {token}", "Content-Encoding": encoding}
    request = urllib.request.Request(endpoint + path, body, headers, method=method)  # noqa: S310 - our own
    direct = urllib.request.ProxyHandler({})  # the emulator is on this machine
    opener = urllib.request.build_opener(direct, urllib.request.HTTPSHandler(context=tls))
    try:
        with opener.open(request, timeout=60) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            raise RemoteError(f"{endpoint} refused: {_reason(error.read().decode(errors='replace'))}") from None
    except urllib.error.URLError as error:
        raise RemoteError(
            f"no emulator answers at {endpoint} ({error.reason}): "
            f"start it with 'hive-emulator serve --data-dir {folder}'"
        ) from None
