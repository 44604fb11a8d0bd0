"""Where the keys of a Vault that we deploy are kept: another Vault's KV, or a file encrypted to named GPG keys.

A safe is tried before there is anything to put into it: keys that can't be stored are lost for good. It never
overwrites what is in it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from saltform.config.types import NOTHING, CredentialSource
from saltform.credentials.pillar import PillarSource
from saltform.credentials.source import Fetched
from saltform.credentials.vault import VaultSource
from saltform.credentials.vault_login import VaultLogin
from saltform.errors import CredentialError, SaltformError
from saltform.files import make_folder
from saltform.process import RealProcesses

TIMEOUT = 60.0
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
        self._login = VaultLogin(connection, os.environ, PillarSource(pillar))
        self._source = VaultSource(self._login)
        self._asked = CredentialSource("vault", {"path": settings["path"]}, "vault:safe:vault")
        self._version = 0
        self.name = f"{settings['path']} in the Vault at {self._login.address}"

    def prepare(self) -> None:
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

    def store(self, keys: Mapping[str, Any]) -> None:
        self._write(keys)

    def load(self) -> dict[str, Any] | None:
        found = self._fetched()
        return dict(found.values) if found and "keys" in found.values else None

    def close(self) -> None:
        self._login.close()

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
    """A file that only the owners of the named keys can read. The plain text is in a pipe, never in a file."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._file = Path(settings["file"])
        self._recipients = [str(name) for name in settings["recipients"]]
        self._home = ["--homedir", str(settings["home"])] if settings.get("home") else []
        self.name = f"{self._file} for {', '.join(self._recipients)}"

    def prepare(self) -> None:
        if self._file.exists():
            raise _occupied(self.name)
        trial = self._file.with_name(f".{self._file.name}.trial")
        self._encrypt("{}", trial)
        trial.unlink()

    def store(self, keys: Mapping[str, Any]) -> None:
        new = self._file.with_name(f".{self._file.name}.new")
        self._encrypt(json.dumps(dict(keys)), new)
        os.link(new, self._file)  # fails if something is there, as a rename wouldn't
        new.unlink()

    def load(self) -> dict[str, Any] | None:
        if not self._file.exists():
            return None
        return json.loads("\n".join(self._gpg(["--decrypt", str(self._file)])))

    def close(self) -> None:
        pass

    def _encrypt(self, text: str, path: Path) -> None:
        make_folder(path.parent)
        path.unlink(missing_ok=True)
        to = [part for name in self._recipients for part in ("--recipient", name)]
        reader, writer = os.pipe()
        try:
            os.write(writer, text.encode())  # a few hundred bytes: it fits into the pipe
            os.close(writer)
            argv = ["--trust-model", "always", "--armor", *to, "--output", str(path)]
            self._gpg([*argv, "--encrypt", f"/dev/fd/{reader}"], (reader,))
        finally:
            os.close(reader)
        path.chmod(0o600)

    def _gpg(self, arguments: list[str], pass_fds: tuple[int, ...] = ()) -> list[str]:
        said: list[str] = []
        complained: list[str] = []
        try:
            result = RealProcesses().run(
                ["gpg", "--batch", "--no-tty", "--quiet", *self._home, *arguments],
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
            f"import the keys first: gpg {' '.join([*self._home, '--list-keys', *self._recipients])}",
        )


def _occupied(name: str) -> CredentialError:
    return CredentialError(
        "The safe is not empty",
        f"there are keys already in {name}; they may be the only ones to some Vault's data",
        "use another path, or move what is there away once you know that nobody needs it",
    )
