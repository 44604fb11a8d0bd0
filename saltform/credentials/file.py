"""Credentials from a file of the master, read anew in each run: a mounted token, a key, a .env file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltform.credentials.source import Fetched
from saltform.errors import CredentialError

if TYPE_CHECKING:
    from saltform.config.types import CredentialSource


class FileSource:
    """`format: text` (the default) is one field, `content`; `json` and `env` have fields of their own."""

    def fetch(self, asked: CredentialSource) -> Fetched:
        path = Path(asked.options["path"])
        try:
            content = path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it isn't text in UTF-8"
            raise CredentialError(
                f"Can't read the credentials file {path}",
                f"{reason} ({asked.path})",
                f"ls -l {path}; it must be readable by the user that runs the master",
                source=f"file {path}",
            ) from None
        return Fetched(_fields(content, asked))

    def leased(self, asked: CredentialSource) -> bool:
        return False


def _fields(content: str, asked: CredentialSource) -> dict[str, Any]:
    form = asked.options.get("format", "text")
    if form == "json":
        return _json_fields(content, asked)
    if form == "env":
        pairs = (line.partition("=") for line in content.splitlines() if _is_assignment(line))
        return {name.strip().removeprefix("export "): _unquoted(value.strip()) for name, _, value in pairs}
    return {"content": content.removesuffix("\n")}


def _json_fields(content: str, asked: CredentialSource) -> dict[str, Any]:
    try:
        fields = json.loads(content)
    except ValueError as error:
        fields = None
        # The parser's own message quotes nothing of the file, but its context would: keep only the position.
        problem = f"no JSON at character {getattr(error, 'pos', 0)}"
    else:
        problem = f"JSON, but a {type(fields).__name__} and not an object"
    if not isinstance(fields, dict):
        raise CredentialError(
            f"The credentials file {asked.options['path']} is not a JSON object",
            f"{problem} ({asked.path})",
            "write it as one object, or leave out `format: json` to take the whole file as one value",
            source=f"file {asked.options['path']}",
        )
    return fields


def _is_assignment(line: str) -> bool:
    return "=" in line and not line.lstrip().startswith("#")


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if quoted else value
