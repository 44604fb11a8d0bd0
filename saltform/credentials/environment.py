"""Credentials from the master's own environment: workload identity, a CI job, a systemd credential."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from saltform.credentials.source import Fetched

if TYPE_CHECKING:
    from saltform.config.types import CredentialSource


class EnvironmentSource:
    """Only what a kind or a `map` names is taken from it."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ

    def fetch(self, asked: CredentialSource) -> Fetched:
        return Fetched(dict(self._environ))

    def leased(self, asked: CredentialSource) -> bool:
        return False
