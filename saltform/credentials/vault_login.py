"""The connection to Vault: one client and one login for a run, shared between threads, in memory only."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from saltform.credentials.pillar import PillarSource
from saltform.credentials.source import Lease
from saltform.credentials.vault_errors import can_help_to_retry, translate
from saltform.errors import CredentialError

TIMEOUT = 10.0
PAUSES = (0.2, 0.8)  # seconds between tries, where another try can help
WHERE = "infrastructure:vault"
_pause = time.sleep


class VaultLogin:
    """Asks Vault, logged in; `ask` is the one way through which every request goes."""

    def __init__(
        self, settings: Mapping[str, Any], environ: Mapping[str, str], pillar: PillarSource, where: str = WHERE
    ) -> None:
        self._settings = settings
        self._where = where  # in pillar: what an error tells a person to correct
        self._environ = environ
        self._pillar = pillar
        self._auth: Mapping[str, Any] = settings.get("auth") or {}
        self._lock = threading.Lock()
        self._client: Any = None
        self._unwrapped = ""
        self.token_seconds = 0.0  # how long the login lives without being renewed; 0 for ever
        self.renewable = False

    @property
    def address(self) -> str:
        return str(self._settings.get("address") or self._environ.get("VAULT_ADDR", "")).rstrip("/")

    def ask(
        self, method: str, path: str, *, reads_only: bool = True, where: str = "", **kwargs: Any
    ) -> dict[str, Any]:
        """One request as the run's login. A login that has ended is made again, once, where it can be."""
        client = self._logged_in()
        try:
            return self._try(client, method, path, reads_only, kwargs)
        except Exception as error:
            if type(error).__name__ != "Forbidden":
                raise self._translated(error, path, where) from None
            policies = self._policies(client)
            if policies is None and self._can_login_again():
                self._forget(client)
                return self._ask_once_more(method, path, reads_only, where, kwargs)
            raise self._translated(error, path, where, policies) from None

    def renew(self) -> Lease:
        """Keep the login alive; it carries the leases, which end with it."""
        auth = self.ask("post", "auth/token/renew-self")["auth"]
        return Lease("", float(auth["lease_duration"]), bool(auth["renewable"]))

    def close(self) -> bool:
        """Give back a login of ours, and with it everything leased through it. A given token isn't ours."""
        with self._lock:
            client, self._client = self._client, None
        if client is None:
            return False
        try:
            if self._method() == "approle":
                self._try(client, "post", "auth/token/revoke-self", True, {})
            return self._method() == "approle"
        except Exception:
            return False  # it ends by itself; a run that is done must not fail for it
        finally:
            client.session.close()

    def _ask_once_more(
        self, method: str, path: str, reads_only: bool, where: str, kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        client = self._logged_in()
        try:
            return self._try(client, method, path, reads_only, kwargs)
        except Exception as error:
            raise self._translated(error, path, where, self._policies(client)) from None

    def _try(self, client: Any, method: str, path: str, reads_only: bool, kwargs: dict[str, Any]) -> dict[str, Any]:
        for pause in (*PAUSES, None):
            try:
                answer = client.adapter.request(method, f"/v1/{path}", **kwargs)
                return answer if isinstance(answer, dict) else {}
            except Exception as error:
                if pause is None or not can_help_to_retry(error, reads_only):
                    raise
                _pause(pause)
        raise AssertionError("unreachable")

    def _translated(
        self, error: Exception, path: str, where: str, policies: list[str] | None = None
    ) -> CredentialError:
        return translate(error, self.address, path, policies, where or self._where, self._where)

    def _policies(self, client: Any) -> list[str] | None:
        """The policies of the login, or None when it isn't valid any more."""
        try:
            answer = self._try(client, "get", "auth/token/lookup-self", True, {})
        except Exception:
            return None
        return list(answer["data"].get("policies") or [])

    # --- logging in

    def _logged_in(self) -> Any:
        with self._lock:  # the others wait here for the one login
            if self._client is None:
                client = self._connect()
                self._login(client)
                self._client = client
            return self._client

    def _connect(self) -> Any:
        if not self.address:
            raise CredentialError(
                "No address for Vault",
                f"{self._where}:address isn't set and there is no VAULT_ADDR",
                f"add to the pillar: {self._where}:address: https://vault.example.com:8200",
            )
        import hvac

        ca = self._settings.get("ca")
        return hvac.Client(
            url=self.address,
            token="",  # None would make hvac look at VAULT_TOKEN and ~/.vault-token
            verify=str(ca) if ca else True,
            timeout=float(self._settings.get("timeout", TIMEOUT)),
            namespace=self._settings.get("namespace") or None,
        )

    def _method(self) -> str:
        return str(self._auth.get("method") or ("approle" if "role_id" in self._auth else "token"))

    def _can_login_again(self) -> bool:
        return self._method() == "approle"

    def _forget(self, client: Any) -> None:
        with self._lock:
            if self._client is client:
                self._client = None

    def _login(self, client: Any) -> None:
        if self._method() == "token":
            client.token = self._secret("token", {"environment": "VAULT_TOKEN"})
            return
        mount = str(self._auth.get("mount", "approle")).strip("/")
        body = {"role_id": self._secret("role_id"), "secret_id": self._secret_id(client)}
        path = f"auth/{mount}/login"
        try:
            auth = self._try(client, "post", path, True, {"json": body})["auth"]
        except Exception as error:
            if type(error).__name__ in ("InvalidRequest", "Forbidden"):
                raise _login_refused(path, mount, self._where) from None
            raise self._translated(error, path, "") from None
        client.token = auth["client_token"]
        self.token_seconds, self.renewable = float(auth["lease_duration"]), bool(auth["renewable"])

    def _secret_id(self, client: Any) -> str:
        if "wrapped_secret_id" not in self._auth:
            return self._secret("secret_id", "") if "secret_id" in self._auth else ""
        if not self._unwrapped:  # the wrapping token works once; what was in it serves the whole run
            self._unwrapped = self._unwrap(client, self._secret("wrapped_secret_id"))
        return self._unwrapped

    def _unwrap(self, client: Any, token: str) -> str:
        try:
            looked = self._try(client, "post", "sys/wrapping/lookup", True, {"json": {"token": token}})
            made_by = str(looked["data"].get("creation_path", ""))
            if made_by.endswith("/secret-id"):
                headers = {"X-Vault-Token": token}  # the wrapping token is the login for this one request
                answer = self._try(client, "post", "sys/wrapping/unwrap", False, {"headers": headers})
                return str(answer["data"]["secret_id"])
        except Exception as error:
            if type(error).__name__ not in ("InvalidRequest", "Forbidden", "InvalidPath"):
                raise self._translated(error, "sys/wrapping/unwrap", "") from None
            raise _wrapping_used(self._where) from None
        raise CredentialError(
            "The wrapped secret id is not one",
            f"its wrapping token was made by {made_by}, not by an AppRole",
            "make one with: bao write -wrap-ttl=5m -f auth/approle/role/ROLE/secret-id",
        )

    def _secret(self, name: str, default: Any = None) -> str:
        """A secret of the login itself: literal (from an encrypted pillar), or where it is."""
        said = self._auth.get(name, default)
        value = said if isinstance(said, str) else self._looked_up(said or {})
        if not value:
            found = ", ".join(f"{kind} {where}" for kind, where in (said or {}).items()) or "nothing"
            raise CredentialError(
                f"No {name} to log in to Vault with",
                f"{self._where}:auth:{name} says {found}, and there is nothing in it",
                f"{self._where}:auth:{name}: {{environment: NAME}} or {{file: PATH}} or {{pillar: PATH}}",
            )
        return value

    def _looked_up(self, said: Mapping[str, str]) -> str:
        lookups: Mapping[str, Callable[[str], Any]] = {
            "environment": self._environ.get,
            "file": _content,
            "pillar": self._pillar.lookup,
        }
        for kind, where in said.items():
            return str(lookups[kind](where) or "").strip()
        return ""


def _content(path: str) -> str:
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError):
        return ""


def _login_refused(path: str, mount: str, where: str) -> CredentialError:
    return CredentialError(
        "Vault refused the login",
        f"{path}: role id or secret id is wrong, has expired, or was used too often ({where}:auth)",
        f"make a new one: bao write -f auth/{mount}/role/ROLE/secret-id",
    )


def _wrapping_used(where: str) -> CredentialError:
    return CredentialError(
        "The wrapped secret id was already used, or has expired",
        f"a wrapping token works once ({where}:auth:wrapped_secret_id); if it wasn't you who used it, "
        "somebody else has the secret id",
        "revoke that secret id if in doubt, then: bao write -wrap-ttl=5m -f auth/approle/role/ROLE/secret-id",
    )
