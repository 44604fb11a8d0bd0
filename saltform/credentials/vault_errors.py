"""What Vault's failures mean: one message each, with the path, the policy and a fix that can be copied."""

from __future__ import annotations

from typing import Any

from saltform.errors import CredentialError

# Worth another try after a pause. A sealed or uninitialised Vault needs a person, a refusal needs a policy.
_PASSING = frozenset(("ConnectionError", "ConnectTimeout", "RateLimitExceeded", "InternalServerError", "BadGateway"))


def can_help_to_retry(error: Exception, reads_only: bool) -> bool:
    """Would asking again help? After a time-out only if nothing was made: a second lease would be lost."""
    name = type(error).__name__
    if "SSLError" in {base.__name__ for base in type(error).__mro__}:
        return False
    return name in _PASSING or (reads_only and name == "ReadTimeout")


def translate(
    error: Exception,
    address: str,
    path: str,
    policies: list[str] | None,
    where: str,
    login: str,
) -> CredentialError:
    """An exception of hvac or requests as the error that a person is shown.

    `where` is what was asked for, `login` the connection's settings (address, ca, auth), both as paths in pillar.
    """
    summary, detail, fix = _said(error, address, path, policies, login)
    at = f" ({where})" if where else ""
    return CredentialError(summary, detail + at, fix, vault=address, vault_path=path)


def _said(error: Exception, address: str, path: str, policies: list[str] | None, login: str) -> tuple[str, str, str]:
    name = type(error).__name__
    status = f"curl {address}/v1/sys/seal-status"
    if "SSLError" in {base.__name__ for base in type(error).__mro__}:
        return (
            "Vault's certificate is not trusted",
            f"{address} answered with a certificate that no known authority has signed, or for another name",
            f"set {login}:ca to the PEM file of the authority that signed it",
        )
    if name in ("ConnectionError", "ConnectTimeout"):
        return (
            "Vault is out of reach",
            f"nothing answers at {address}",
            f"start it, or check the address: {status}",
        )
    if name in ("ReadTimeout", "Timeout"):
        return (
            "Vault is too slow",
            f"{address} took the request for {path} and didn't answer in time",
            f"see what it is busy with ({status}), or raise {login}:timeout",
        )
    if name == "VaultDown":
        return (
            "Vault is sealed",
            f"{address} refuses everything until it is unsealed (or initialised, if it is new)",
            "bao operator unseal   # a new one first: bao operator init",
        )
    if name == "VaultNotInitialized":
        return "Vault is not initialised", f"{address} has no keys yet", "bao operator init"
    if name == "InvalidPath":
        return _missing(path)
    if name in ("Forbidden", "Unauthorized"):
        return _denied(path, policies, login)
    if name == "InvalidRequest":
        return (
            f"Vault refused the request for {path}",
            _messages(error),
            "check the path and the role's settings",
        )
    return "Vault failed", f"{address} answered the request for {path} with: {_messages(error)}", status


def _missing(path: str) -> tuple[str, str, str]:
    plain = path.replace("/data/", "/", 1)
    return (
        f"Missing path {plain!r} in Vault",
        "there is no entry at this path (or its newest version was deleted)",
        f"bao kv put {plain} FIELD=-   # check mount and spelling: bao kv list {plain.rpartition('/')[0]}",
    )


def _denied(path: str, policies: list[str] | None, login: str) -> tuple[str, str, str]:
    if policies is None:
        return (
            "The token for Vault has expired or was revoked",
            f"it was refused for {path}, and for asking about itself too",
            f"give a new one at {login}:auth, or use `method: approle`: it logs in for each run",
        )
    held = ", ".join(policies) or "no policy at all"
    return (
        f"Permission denied for {path!r} in Vault",
        f"the login holds the policies: {held}; none of them allows it",
        f'add to one of them: path "{path}" {{ capabilities = ["read"] }}',
    )


def _messages(error: Exception) -> str:
    """What Vault itself said. Its error texts name paths and parameters, never values."""
    errors: Any = getattr(error, "errors", None)
    return "; ".join(map(str, errors)) if errors else type(error).__name__
