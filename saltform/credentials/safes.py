"""Where the keys of a Vault that we deploy are kept: another Vault's KV, or a file encrypted to named GPG keys.

A safe is tried before there is anything to put into it: keys that can't be stored are lost for good. It never
overwrites what is in it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from saltform.config.types import NOTHING, CredentialSource
from saltform.credentials.pillar import PillarSource
from saltform.credentials.recipients import find, read_keys
from saltform.credentials.source import Fetched
from saltform.credentials.vault import VaultSource
from saltform.credentials.vault_login import VaultLogin
from saltform.errors import CredentialError, SaltformError
from saltform.files import make_folder, sync_file, sync_folder
from saltform.process import RealProcesses
from saltform.report.words import plural

TIMEOUT = 60.0
WHERE = "vault:safe:vault"  # in the pillar of the minion that has the Vault
OFFLINE = ("--no-auto-key-locate", "--no-auto-key-retrieve", "--disable-dirmngr")
EMPTY = {"state": "about to be initialised"}  # what a safe in Vault holds until there are keys


class Safe(Protocol):
    """Somewhere to keep keys. `name` says where, for people."""

    name: str

    def prepare(self) -> None:
        """Make sure that `store` will work, and that nothing is in the safe yet."""
        ...

    def store(self, keys: Mapping[str, Any]) -> None: ...

    def load(self) -> dict[str, Any] | None:
        """The keys, or None when the safe is empty."""
        ...

    def close(self) -> None: ...


class VaultSafe:
    """An entry in another Vault. Version 2 of KV: only there "must not exist yet" can be said."""

    def __init__(self, settings: Mapping[str, Any], pillar: Mapping[str, Any] = NOTHING) -> None:
        connection = {name: value for name, value in settings.items() if name != "path"}
        self._login = VaultLogin(connection, os.environ, PillarSource(pillar), WHERE)
        self._source = VaultSource(self._login)
        self._asked = CredentialSource("vault", {"path": settings["path"]}, WHERE)
        self._version = 0
        self.name = f"{settings['path']} in the Vault at {self._login.address}"

    def prepare(self) -> None:
        with self._naming_the_safe():
            self._prepare()

    def store(self, keys: Mapping[str, Any]) -> None:
        with self._naming_the_safe():
            self._write(keys)

    def load(self) -> dict[str, Any] | None:
        with self._naming_the_safe():
            found = self._fetched()
        return dict(found.values) if found and "keys" in found.values else None

    def close(self) -> None:
        self._login.close()

    @contextlib.contextmanager
    def _naming_the_safe(self) -> Iterator[None]:
        """There are two Vaults here: an error says that it is about this one."""
        try:
            yield
        except CredentialError as error:
            if self.name not in error.detail:
                error.detail = f"the safe, {self.name}: {error.detail}"
            raise

    def _prepare(self) -> None:
        if self._source.mount(self._asked)[1] != "kv2":
            raise CredentialError(
                "The safe can't protect what is in it",
                f"{self.name} is not on a KV engine of version 2, and could be overwritten",
                "use a path on one: bao secrets enable -version=2 -path=secret kv",
            )
        found = self._fetched()
        if found is not None and found.values != EMPTY:
            raise _occupied(self.name)
        self._version = int(found.version) if found else 0
        self._write(EMPTY)

    def _fetched(self) -> Fetched | None:
        try:
            return self._source.fetch(self._asked)
        except CredentialError as error:
            if error.summary.startswith("Missing path"):
                return None
            raise

    def _write(self, data: Mapping[str, Any]) -> None:
        mount, _ = self._source.mount(self._asked)
        path = self._asked.options["path"].strip("/").removeprefix(mount).strip("/")
        body = {"data": dict(data), "options": {"cas": self._version}}
        try:
            self._login.ask("post", f"{mount}/data/{path}", where=self._asked.path, json=body)
        except CredentialError as error:
            if "check-and-set" in error.detail:
                raise _occupied(self.name) from None
            raise
        self._version += 1


class GpgSafe:
    """A file that only the owners of the named keys can read. The plain text is in a pipe, never in a file.

    Keys come from the key ring or from files: gpg by itself would look up an unknown address on the network.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._file = Path(settings["file"])
        # There is one only where a process was killed while it stored keys.
        self._new = self._file.with_name(f".{self._file.name}.new")
        said = settings["recipients"]
        self._recipients = [said] if isinstance(said, str) else [str(name) for name in said]
        self._home = ["--homedir", str(settings["home"])] if settings.get("home") else []
        self.name = f"{self._file} for {', '.join(self._recipients)}"

    def prepare(self) -> None:
        if self._file.exists() or self._new.exists():
            raise _occupied(self.name)
        trial = self._file.with_name(f".{self._file.name}.trial")
        self._encrypt("{}", trial)
        trial.unlink()

    def store(self, keys: Mapping[str, Any]) -> None:
        """On the disk when this returns: what is sealed with these keys needs them from now on."""
        self._encrypt(json.dumps(dict(keys)), self._new)
        sync_file(self._new)
        os.link(self._new, self._file)  # fails if something is there, as a rename wouldn't
        self._new.unlink()
        sync_folder(self._file.parent)

    def load(self) -> dict[str, Any] | None:
        there = next((path for path in (self._file, self._new) if path.exists()), None)
        return json.loads("\n".join(self._gpg(["--decrypt", str(there)]))) if there else None

    def close(self) -> None:
        pass

    def _encrypt(self, text: str, path: Path) -> None:
        make_folder(path.parent, durable=True)
        path.unlink(missing_ok=True)
        reader, writer = os.pipe()
        try:
            os.write(writer, text.encode())  # a few hundred bytes: it fits into the pipe
            os.close(writer)
            argv = ["--trust-model", "always", "--no-encrypt-to", "--armor", *self._to, "--output", str(path)]
            self._gpg([*argv, "--encrypt", f"/dev/fd/{reader}"], (reader,))
        finally:
            os.close(reader)
        path.chmod(0o600)

    @functools.cached_property
    def _to(self) -> list[str]:
        """Who is meant, as gpg's arguments. Found once: what was tried is what is used."""
        try:
            return [part for recipient in self._recipients for part in self._argument(recipient)]
        except ValueError as error:
            raise self._failed(str(error)) from None

    def _argument(self, recipient: str) -> tuple[str, str]:
        if not recipient.startswith("/"):
            return "--recipient", find(recipient, read_keys(self._gpg(["--with-colons", "--list-keys"])))
        found = read_keys(self._gpg(["--with-colons", "--show-keys", recipient]))
        if len(found) != 1:
            raise ValueError(f"{recipient} has {plural(len(found), 'public key')}, expected one")
        return "--recipient-file", recipient

    def _gpg(self, arguments: list[str], pass_fds: tuple[int, ...] = ()) -> list[str]:
        said: list[str] = []
        complained: list[str] = []
        try:
            result = RealProcesses().run(
                ["gpg", "--batch", "--no-tty", "--quiet", *OFFLINE, *self._home, *arguments],
                cwd=Path("/"),
                env=dict(os.environ),
                timeout=TIMEOUT,
                on_line=lambda stream, line: (said if stream == "stdout" else complained).append(line),
                pass_fds=pass_fds,
                name="gpg",
            )
        except SaltformError as error:
            raise self._failed(error.detail) from None
        if result.exit_code or result.interrupted:
            raise self._failed("; ".join(complained[-3:]) or f"exit code {result.exit_code}")
        return said

    def _failed(self, reason: str) -> CredentialError:
        return CredentialError(
            "GPG can't use the safe",
            f"{self.name}: {reason}",
            "import the keys, compare their fingerprints with their owners, and name them by those: gpg "
            + " ".join([*self._home, "--list-keys", "--with-fingerprint"]),
        )


def _occupied(name: str) -> CredentialError:
    return CredentialError(
        "The safe is not empty",
        f"there are keys already in {name}; they may be the only ones to some Vault's data",
        "use another path, or move what is there away once you know that nobody needs it",
    )
