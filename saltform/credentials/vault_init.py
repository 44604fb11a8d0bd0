"""The first minutes of a Vault that we deploy: initialised, its keys put into a safe, unsealed; later unsealed again.

1. The safe is tried first. Nothing is initialised whose keys could not be kept.
2. The shares and the root token go from Vault's answer into the safe, and are in no return, log or file of ours.
3. Unsealing takes as many shares out of the safe as are needed.

What is returned says what is, never how: it ends up in Salt's job cache.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from saltform.config.types import NOTHING
from saltform.credentials.safes import GpgSafe, Safe, VaultSafe
from saltform.credentials.vault_errors import translate
from saltform.errors import CredentialError, SaltformError
from saltform.report.words import plural

TIMEOUT = 10.0
INIT_TIMEOUT = 300.0  # its answer comes once: giving up on it early would lose the keys
ACTIVE_WITHIN = 60.0  # seconds; one with its storage on disk elects itself first
WHERE = "vault"


def status(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Whether it is initialised and sealed."""
    with _Server(settings) as server:
        return server.status()


def ready(settings: Mapping[str, Any], pillar: Mapping[str, Any] = NOTHING) -> dict[str, Any]:
    """Initialise it if it is new, unseal it if it is sealed. `changes` says what was done."""
    safe = open_safe(settings, pillar)
    try:
        with _Server(settings) as server:
            changes = []
            if not server.status()["initialised"]:
                _initialise(server, safe, int(settings.get("shares", 5)), int(settings.get("threshold", 3)))
                changes.append("initialised")
            if server.status()["sealed"]:
                _unseal(server, safe)
                changes.append("unsealed")
            return {**server.status(), "changes": changes, "safe": safe.name}
    finally:
        safe.close()


def open_safe(settings: Mapping[str, Any], pillar: Mapping[str, Any] = NOTHING) -> Safe:
    said = settings.get("safe") or {}
    if set(said) == {"vault"} and said["vault"].get("path"):
        return VaultSafe(said["vault"], pillar)
    if set(said) == {"gpg"} and said["gpg"].get("file") and said["gpg"].get("recipients"):
        return GpgSafe(said["gpg"])
    raise CredentialError(
        "No safe for the keys of this Vault",
        f"{WHERE}:safe must name one: found {', '.join(map(str, said)) or 'nothing'}",
        "safe: {gpg: {recipients: [FINGERPRINT], file: /srv/keys/vault.asc}}   # or vault: {address: …, path: …}",
    )


def _initialise(server: _Server, safe: Safe, shares: int, threshold: int) -> None:
    safe.prepare()
    body = {"secret_shares": shares, "secret_threshold": threshold}
    try:
        answer = server.ask("put", "sys/init", json=body, timeout=INIT_TIMEOUT)
    except CredentialError as error:
        if server.status()["initialised"]:
            raise _keys_lost(server.address, error) from None
        raise
    safe.store({"keys": answer["keys_base64"], "root_token": answer["root_token"], "address": server.address})


def _unseal(server: _Server, safe: Safe) -> None:
    kept = safe.load()
    if kept is None:
        raise CredentialError(
            "The keys of this Vault are not in the safe",
            f"{server.address} is initialised, and there is nothing in {safe.name}",
            "whoever initialised it must unseal it: bao operator unseal",
        )
    for key in kept["keys"]:
        if not server.ask("put", "sys/unseal", json={"key": key}, timeout=INIT_TIMEOUT)["sealed"]:
            return server.wait_until_active()
    raise CredentialError(
        "The keys in the safe don't open this Vault",
        f"{plural(len(kept['keys']), 'share')} from {safe.name} were tried at {server.address}",
        f"find the right safe: these keys were stored for {kept.get('address', 'an unknown address')}",
    )


def _keys_lost(address: str, error: CredentialError) -> CredentialError:
    return CredentialError(
        "The keys of this new Vault are lost",
        f"{address} was initialised, but its answer with the keys didn't arrive ({error.summary})",
        "it holds nothing yet: stop it, empty its storage, start it and run this again",
    )


class _Server:
    """The Vault in question, asked without a login: initialising and unsealing need none."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.address = str(settings.get("address") or "").rstrip("/")
        if not self.address:
            raise CredentialError(
                "No address for Vault", f"{WHERE}:address isn't set", f"{WHERE}:address: https://…:8200"
            )
        import hvac

        ca = settings.get("ca")
        self._client = hvac.Client(url=self.address, token="", verify=str(ca) if ca else True, timeout=TIMEOUT)

    def __enter__(self) -> _Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.session.close()

    def ask(self, method: str, path: str, **kwargs: Any) -> dict[str, Any]:
        try:
            return self._client.adapter.request(method, f"/v1/{path}", **kwargs)
        except SaltformError:
            raise
        except Exception as error:
            raise translate(error, self.address, path, None, WHERE, WHERE) from None

    def status(self) -> dict[str, Any]:
        found = self.ask("get", "sys/seal-status")
        return {"initialised": found["initialized"], "sealed": found["sealed"], "version": found["version"]}

    def wait_until_active(self) -> None:
        """Active itself, or a standby that knows who is: before that it answers requests with errors."""
        deadline = time.monotonic() + ACTIVE_WITHIN
        while time.monotonic() < deadline:
            if self._look("sys/health") or self._look("sys/leader").get("leader_address"):
                return
            time.sleep(0.1)
        raise CredentialError(
            "Vault is unsealed but doesn't become active",
            f"{self.address} still isn't after {ACTIVE_WITHIN:g} s",
            f"curl {self.address}/v1/sys/health; then look into its log",
        )

    def _look(self, path: str) -> dict[str, Any]:
        """The answer if it is a good one (200), else nothing."""
        answer = self._client.adapter.request("get", f"/v1/{path}", raise_exception=False)
        return answer if isinstance(answer, dict) else {}
