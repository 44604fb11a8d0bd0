"""Credentials from Salt's pillar. What is encrypted (GPG) or refers to elsewhere (sdb://) is Salt's to resolve."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from saltform.credentials.source import Fetched
from saltform.errors import CredentialError

if TYPE_CHECKING:
    from saltform.config.types import CredentialSource

Resolve = Callable[[str], Any]  # an sdb:// reference → what it refers to
_REFERENCE = "sdb://"
_UNRESOLVED = (_REFERENCE, "-----BEGIN PGP MESSAGE-----")


def as_it_is(reference: str) -> Any:
    """Without Salt nobody can resolve it."""
    return reference


class PillarSource:
    """A mapping's entries are its fields; anything else is the one field `value`."""

    def __init__(self, pillar: Mapping[str, Any], resolve: Resolve = as_it_is) -> None:
        self._pillar = pillar
        self._resolve = resolve

    def fetch(self, asked: CredentialSource) -> Fetched:
        value = self.lookup(asked.options["path"])
        if value is None:
            raise CredentialError(
                f"Missing pillar {asked.options['path']!r}",
                f"{asked.path} names it, and the pillar that this run was given doesn't have it",
                "salt-run pillar.show_pillar, and look for it in what pillar/top.sls gives to this id",
                source=f"pillar {asked.options['path']}",
            )
        fields = value if isinstance(value, Mapping) else {"value": value}
        fields = {name: self._resolved(found) for name, found in fields.items()}
        for name, found in fields.items():
            _refuse_unresolved(name, found, asked)
        return Fetched(fields)

    def leased(self, asked: CredentialSource) -> bool:
        return False

    def lookup(self, path: str) -> Any:
        """The value at `a:b:c`, or None."""
        value: Any = self._pillar
        for name in path.split(":"):
            if not isinstance(value, Mapping):
                return None
            value = value.get(name)
        return self._resolved(value)

    def _resolved(self, value: Any) -> Any:
        """Only what is asked for: no other reference in the pillar is followed."""
        return self._resolve(value) if isinstance(value, str) and value.startswith(_REFERENCE) else value


def _refuse_unresolved(name: str, value: Any, asked: CredentialSource) -> None:
    """An encrypted value that went out as a password would only fail later, and somewhere else."""
    if isinstance(value, str) and value.lstrip().startswith(_UNRESOLVED):
        raise CredentialError(
            f"Pillar {asked.options['path']!r} holds a reference, not a value",
            f"field {name!r} still is an sdb:// reference or a PGP message",
            "let Salt resolve it: `#!yaml|gpg` as the SLS file's first line; the sdb profile in Salt's configuration",
            source=f"pillar {asked.options['path']}",
        )
