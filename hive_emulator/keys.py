"""Access keys: whose they are and where they are kept.

They are in ``credentials`` in the data folder, an AWS credentials file (0600) that clients can use as it is
(``AWS_SHARED_CREDENTIALS_FILE``). The profile ``default`` belongs to the first account; further profiles
may name their account with ``hive_account = 000000000002``. ``HIVE_ACCESS_KEY_ID`` and
``HIVE_SECRET_ACCESS_KEY`` replace the first account's key.
"""

from __future__ import annotations

import configparser
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hive_emulator.config import FIRST_ACCOUNT

_ACCOUNT = re.compile(r"[0-9]{12}\Z")
_ACCESS_KEY = re.compile(r"[A-Za-z0-9_-]{1,128}\Z")  # it stands in the Authorization header, between slashes
_SECRET = re.compile(r"[!-~]+\Z")


class KeysError(Exception):
    """The keys that were given can't be used; the text says how to put it right."""


@dataclass(frozen=True)
class Key:
    """A key pair and the account that it acts for."""

    access_key: str
    secret: str
    account: str
    profile: str = "default"


def load(data_dir: Path, environ: Mapping[str, str], account: str | None = None) -> list[Key]:
    """All keys, the first account's first; makes the file at the first start.

    ``account`` is the first one; None: the one that the file has, or FIRST_ACCOUNT.
    """
    path = data_dir / "credentials"
    kept = read(path, account or FIRST_ACCOUNT) if path.exists() else []
    first = kept[0].account if kept else account or FIRST_ACCOUNT
    if account and first != account:
        raise KeysError(
            f"--account is {account}, but {path} has the keys of {first}: change hive_account there, "
            "or give another --data-dir"
        )
    given = _from_environment(environ, first)
    if not kept:
        kept = [given or _new(first)]
        _write(path, kept)
    if given and given not in kept:
        # The file always has the key that is in force: whoever reads it can use it.
        kept = [given, *(key for key in kept if key.profile != "default")]
        _write(path, kept)
    return kept


def _from_environment(environ: Mapping[str, str], account: str) -> Key | None:
    access_key, secret = environ.get("HIVE_ACCESS_KEY_ID"), environ.get("HIVE_SECRET_ACCESS_KEY")
    if not access_key and not secret:
        return None
    if not access_key or not secret:
        missing = "HIVE_SECRET_ACCESS_KEY" if access_key else "HIVE_ACCESS_KEY_ID"
        raise KeysError(f"Partial credentials found in the environment, missing: {missing}")
    _check("HIVE_ACCESS_KEY_ID", access_key, "HIVE_SECRET_ACCESS_KEY", secret)
    return Key(access_key, secret, account)


def _check(name: str, access_key: str, name_of_secret: str, secret: str) -> None:
    """Refuses what no client could sign with, or what a credentials file can't hold."""
    if not _ACCESS_KEY.match(access_key):
        raise KeysError(f"{name} is '{access_key}', expected up to 128 letters, digits, - and _")
    if not _SECRET.match(secret):
        raise KeysError(f"{name_of_secret} has spaces or other characters that a key can't have")


def _new(account: str) -> Key:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
    return Key("AKIA" + "".join(secrets.choice(alphabet) for _ in range(16)), secrets.token_urlsafe(30), account)


def _write(path: Path, keys: list[Key]) -> None:
    text = "# Keys of this emulator. Another account: add a profile with hive_account = 12 digits.\n"
    for key in keys:
        text += f"[{key.profile}]\naws_access_key_id = {key.access_key}\naws_secret_access_key = {key.secret}\n"
        text += f"hive_account = {key.account}\n"
    new = path.with_suffix(".new")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    new.replace(path)


def read(path: Path, first_account: str = FIRST_ACCOUNT) -> list[Key]:
    """The keys in an AWS credentials file."""
    parser = configparser.ConfigParser(interpolation=None, default_section="\0")
    try:
        parser.read_string(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise KeysError(f"{path} can't be read: {error.strerror}") from None
    except configparser.Error as error:
        raise KeysError(f"{path} is not an AWS credentials file: {error}") from None
    found = [_key(path, name, parser[name], first_account) for name in parser.sections()]
    if not found:
        raise KeysError(f"{path} has no profile. Delete it and start again to get a new key.")
    return sorted(found, key=lambda key: key.profile != "default")


def _key(path: Path, profile: str, section: Mapping[str, str], first_account: str) -> Key:
    for name in ("aws_access_key_id", "aws_secret_access_key"):
        if not section.get(name):
            raise KeysError(f"{path}: the profile '{profile}' has no {name}")
    access_key, secret = section["aws_access_key_id"], section["aws_secret_access_key"]
    where = f"{path}: the profile '{profile}': "
    _check(f"{where}aws_access_key_id", access_key, f"{where}aws_secret_access_key", secret)
    account = section.get("hive_account", first_account)
    if not _ACCOUNT.match(account):
        raise KeysError(f"{path}: hive_account of '{profile}' is '{account}', expected 12 digits")
    return Key(access_key, secret, account, profile)
