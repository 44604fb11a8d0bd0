"""Credentials from a command, as AWS defines a credential process: one JSON object on its standard output."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltform.credentials.source import Fetched, Lease
from saltform.errors import CredentialError, SaltformError
from saltform.process import Processes, RealProcesses

if TYPE_CHECKING:
    from saltform.config.types import CredentialSource

TIMEOUT = 30.0
_AWS_NAMES = {
    "AccessKeyId": "AWS_ACCESS_KEY_ID",
    "SecretAccessKey": "AWS_SECRET_ACCESS_KEY",
    "SessionToken": "AWS_SESSION_TOKEN",
}


class CommandSource:
    """Runs with the master's environment: it is the operator's own program, not terraform."""

    def __init__(self, environ: Mapping[str, str] | None = None, processes: Processes | None = None) -> None:
        self._environ = os.environ if environ is None else environ
        self._processes = processes or RealProcesses()

    def fetch(self, asked: CredentialSource) -> Fetched:
        fields = _object(self._output(asked), asked)
        expires = fields.get("Expiration")
        fields |= {ours: fields[theirs] for theirs, ours in _AWS_NAMES.items() if theirs in fields}
        return Fetched(fields, lease=Lease("", _seconds_until(expires, asked)) if expires else None)

    def leased(self, asked: CredentialSource) -> bool:
        """Whether it gives an Expiration: only it can say, so it is run."""
        return self.fetch(asked).lease is not None

    def _output(self, asked: CredentialSource) -> str:
        argv = _argv(asked)
        said: list[str] = []
        complained: list[str] = []
        try:
            result = self._processes.run(
                argv,
                cwd=Path("/"),
                env=dict(self._environ),
                timeout=float(asked.options.get("timeout", TIMEOUT)),
                on_line=lambda stream, line: (said if stream == "stdout" else complained).append(line),
                grace=1.0,
                name=argv[0],
            )
        except SaltformError as error:
            raise _failed(asked, error.detail) from None
        if result.interrupted:
            raise _failed(asked, f"it didn't end within {asked.options.get('timeout', TIMEOUT):g} s")
        if result.exit_code:
            # What it printed isn't quoted: a failing helper may well print the secret it failed with.
            counted = f"{len(complained)} line(s) on standard error, not shown here"
            raise _failed(asked, f"exit code {result.exit_code}, {counted}")
        return "\n".join(said)


def _argv(asked: CredentialSource) -> list[str]:
    command = asked.options["path"]
    return shlex.split(command) if isinstance(command, str) else [str(part) for part in command]


def _object(output: str, asked: CredentialSource) -> dict[str, Any]:
    try:
        fields = json.loads(output)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise _failed(asked, "it didn't print one JSON object on its standard output")
    return fields


def _seconds_until(moment: Any, asked: CredentialSource) -> float:
    try:
        ends = datetime.fromisoformat(str(moment).replace("Z", "+00:00"))
    except ValueError:
        raise _failed(asked, "its Expiration isn't a time in ISO 8601") from None
    if ends.tzinfo is None:
        ends = ends.replace(tzinfo=timezone.utc)
    seconds = (ends - datetime.now(timezone.utc)).total_seconds()
    if seconds <= 0:
        raise _failed(asked, f"the credentials it printed expired {-seconds:.0f} s ago")
    return seconds


def _failed(asked: CredentialSource, reason: str) -> CredentialError:
    program = _argv(asked)[0]
    return CredentialError(
        f"The credential command {program} failed",
        f"{reason} ({asked.path})",
        "run it by hand as the master's user; it must print one JSON object, as AWS's credential_process",
        source=f"command {program}",
    )
