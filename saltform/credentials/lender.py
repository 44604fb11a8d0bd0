"""Lends each process the credentials it needs, for as long as it runs.

1. A run has one lender. Each source is asked once a run for each distinct question, whoever asks first;
   the others wait for that answer. Leased values are not shared: each loan has a lease of its own.
2. A loan is taken before anything is started, so what is wrong with credentials is said first.
3. `Loan.environment` is asked for right before each process: a lease about to end is fetched anew then.
4. A loan gives its leases back when it is closed, after failure and cancel too. What can't be given back
   stays on record for the next run, and ends with the login at the latest.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from saltform.config.types import NOTHING, Component, CredentialSource
from saltform.credentials.command import CommandSource
from saltform.credentials.environment import EnvironmentSource
from saltform.credentials.file import FileSource
from saltform.credentials.leases import Keeper, LeaseLog, LockLease, MemoryLeaseLog
from saltform.credentials.loan import Loan
from saltform.credentials.masking import Masker
from saltform.credentials.pillar import PillarSource, Resolve, as_it_is
from saltform.credentials.source import Fetched, Lease, Source, only_value, text
from saltform.credentials.vault import VaultSource
from saltform.credentials.vault_login import VaultLogin
from saltform.errors import SaltformError
from saltform.process import Processes

SOON = 60.0  # a lease with less than this left (or than a quarter of its time) isn't given to a new process


class Lender:
    """One for each run; used from several threads."""

    def __init__(
        self,
        *,
        run: str = "",
        vault: Mapping[str, Any] = NOTHING,
        pillar: Mapping[str, Any] = NOTHING,
        resolve: Resolve = as_it_is,
        leases: LeaseLog | None = None,
        environ: Mapping[str, str] | None = None,
        processes: Processes | None = None,
        digest_key: bytes = b"",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.notes: list[str] = []
        self.masker = Masker()  # every secret of the run, for what is said about all of it
        self._run = run
        self._leases = leases if leases is not None else MemoryLeaseLog()
        self._digest_key = digest_key
        environ = os.environ if environ is None else environ
        from_pillar = PillarSource(pillar, resolve)
        self._login = VaultLogin(vault, environ, from_pillar)
        self._vault = VaultSource(self._login)
        self._sources: Mapping[str, Source] = {
            "vault": self._vault,
            "pillar": from_pillar,
            "environment": EnvironmentSource(environ),
            "file": FileSource(),
            "command": CommandSource(environ, processes),
        }
        self._keeper = Keeper(clock)
        self._answers: dict[str, tuple[Fetched, LockLease | None]] = {}
        self._asking: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()
        self._login_held: LockLease | None = None
        self._open: set[str] = set()

    def lend(self, component: Component, *, ephemeral: bool = True) -> Loan:
        """What a process of this component needs. `ephemeral`: does its terraform have such variables?"""
        return Loan(self, component, ephemeral)

    def leased_variables(self, component: Component) -> frozenset[str]:
        """The secret variables to declare ephemeral, since a saved plan would carry an old value."""
        return frozenset(name for name, asked in component.secret_variables.items() if self._is_leased(asked))

    def versions(self, component: Component) -> dict[str, str]:
        """What changes when a secret variable's value does: part of the fingerprint, and no secret itself."""
        return {
            name: self._version(name, asked)
            for name, asked in component.secret_variables.items()
            if not self._is_leased(asked)
        }

    def recover(self) -> list[str]:
        """Revoke what dead runs left behind. Says what it did; never fails a run for it."""
        said = []
        for record in self._leases.dangling():
            try:
                self._vault.revoke(record.id)
            except SaltformError as error:  # it would be the same for the others, and each would be waited for
                said.append(f"lease {record.id} of run {record.run} is still there: {error.summary}")
                break
            self._leases.remove(record.id)
            said.append(f"revoked lease {record.id}, left behind by run {record.run} ({record.component})")
        return said

    def close(self) -> None:
        self._keeper.close()
        if self._login.close():  # what was leased through this login is gone with it
            for lease in self._open:
                self._leases.remove(lease)

    def __enter__(self) -> Lender:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- for loans

    def take(self, asked: CredentialSource, component: str) -> tuple[Fetched, LockLease | None]:
        """Ask a source, or use what it has answered in this run."""
        key = _question(asked)
        with self._lock:
            asking = self._asking.setdefault(key, threading.Lock())
        with asking:
            if known := self._known(key):
                return known
            fetched = self._sources[asked.kind].fetch(asked)
            if fetched.lease is None or not fetched.lease.id:
                held = self._keeper.hold(fetched.lease, _keep) if fetched.lease else None
                self._answers[key] = (fetched, held)
                return fetched, held
        self._leases.add(fetched.lease.id, self._run, component)
        self._open.add(fetched.lease.id)
        self._keep_login()
        return fetched, self._keeper.hold(fetched.lease, self._vault.renew)

    def give_back(self, held: LockLease) -> None:
        self._keeper.drop(held)
        if not held.lease.id:
            return
        try:
            self._vault.revoke(held.lease.id)
        except SaltformError as error:
            self.notes.append(f"lease {held.lease.id} could not be given back yet: {error}")
            return
        self._leases.remove(held.lease.id)
        self._open.discard(held.lease.id)

    def ends_soon(self, held: LockLease | None) -> bool:
        return held is not None and held.left(self._keeper.clock()) < min(SOON, held.first / 4)

    def seconds_left(self, held: LockLease) -> float:
        return held.left(self._keeper.clock())

    # ---

    def _known(self, key: str) -> tuple[Fetched, LockLease | None] | None:
        known = self._answers.get(key)
        return None if known is None or self.ends_soon(known[1]) else known

    def _is_leased(self, asked: CredentialSource) -> bool:
        if asked.kind == "command":
            return self.take(asked, "")[0].lease is not None
        return self._sources[asked.kind].leased(asked)

    def _version(self, name: str, asked: CredentialSource) -> str:
        fetched, _ = self.take(asked, "")
        if fetched.version:
            return f"v{fetched.version}"
        value = text(only_value(fetched, asked, name)).encode()
        return hmac.new(self._digest_key, value, hashlib.sha256).hexdigest()[:32] if self._digest_key else ""

    def _keep_login(self) -> None:
        """Leases end with the login that took them: keep that alive too."""
        with self._lock:
            if self._login_held is None and self._login.token_seconds:
                lease = Lease("", self._login.token_seconds, self._login.renewable)
                self._login_held = self._keeper.hold(lease, lambda _: self._login.renew())


def _keep(lease: Lease) -> Lease:
    return lease


def _question(asked: CredentialSource) -> str:
    """Two sources that differ only in what they take from the answer are one question."""
    options = {name: value for name, value in asked.options.items() if name not in ("map", "field")}
    if asked.kind == "environment":
        options = {}
    return json.dumps([asked.kind, options], sort_keys=True, default=str)


def takes_ephemeral(product: str, version: str) -> bool:
    """Terraform knows ephemeral variables from 1.10 on, OpenTofu from 1.11."""
    numbers = tuple(int(part) for part in version.split("-")[0].split(".")[:2])
    return numbers >= ((1, 11) if product == "opentofu" else (1, 10))
