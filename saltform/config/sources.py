"""What is wrong with a source as pillar names it, said without asking the source. Values are never shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from saltform.config.names import nearest
from saltform.config.types import CredentialSource
from saltform.errors import Problem
from saltform.process import steers

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TEXT = "a string"
_ARGUMENTS = "a command line, or a list of its arguments"
_SECONDS = "a number of seconds"
_ENGINES = ("kv1", "kv2", "leased")
_FORMATS = ("text", "json", "env")
_CREDENTIAL = "the variable of a credential: this one steers processes"
_PLACES = (["environment"], ["file"], ["pillar"])


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_command(value: Any) -> bool:
    return _is_text(value) or (isinstance(value, list) and bool(value) and all(map(_is_text, value)))


def _is_seconds(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


# kind → option → (is it right?, what was expected, must it be there?)
_Option = tuple[Callable[[Any], bool], str, bool]
_OPTIONS: Mapping[str, Mapping[str, _Option]] = {
    "vault": {
        "path": (_is_text, "a path in Vault, such as secret/hive", True),
        "mount": (_is_text, "the path of the mount, such as secret", False),
        "engine": (_ENGINES.__contains__, "one of: " + ", ".join(_ENGINES), False),
    },
    "pillar": {"path": (_is_text, "a pillar path, such as secrets:hive", True)},
    "environment": {"path": (_is_text, "the name of a variable of the master's environment", False)},
    "file": {
        "path": (_is_text, "the path of a file on the master", True),
        "format": (_FORMATS.__contains__, "one of: " + ", ".join(_FORMATS), False),
    },
    "command": {
        "path": (_is_command, _ARGUMENTS, True),
        "timeout": (_is_seconds, _SECONDS, False),
    },
}
_EVERYWHERE: Mapping[str, _Option] = {"field": (_is_text, _TEXT, False)}


def validate(source: CredentialSource) -> list[Problem]:
    """Everything that is wrong with one source."""
    if not source.kind:
        return []  # config has said so already
    known = _OPTIONS.get(source.kind)
    if known is None:
        expected = "one of: " + ", ".join(_OPTIONS)
        found = f"the unknown source {source.kind!r}"
        return [Problem(source.path, found, expected, nearest(source.kind, _OPTIONS))]
    allowed = {**known, **_EVERYWHERE}
    problems = _unknown(source.options, (*sorted(allowed), "map"), source.path)
    for name, (right, expected, needed) in allowed.items():
        value = source.options.get(name)
        if (value is not None and not right(value)) or (value is None and needed):
            found = "nothing" if value is None else f"a value of type {type(value).__name__}"
            problems.append(Problem(f"{source.path}:{name}", found, expected))
    return problems + _wrong_names(source.options.get("map"), f"{source.path}:map")


def validate_lent(source: CredentialSource, kind: str = "") -> list[Problem]:
    """What is wrong with a source whose fields become variables of a process under their own names.

    `kind` is the provider's where it knows no names: then pillar names each one.
    """
    named = source.options.get("path") if source.kind == "environment" else None
    if source.options.get("map") or not source.kind:
        return []
    if isinstance(named, str):
        return [Problem(f"{source.path}:path", f"{named!r}", _CREDENTIAL)] if steers(named) else []
    if not kind:
        return []
    expected = f"map: {{VARIABLE: field}}, since kind {kind} knows no names and every field would be lent"
    return [Problem(f"{source.path}:map", "nothing", expected)]


def _wrong_names(renamed: Any, path: str) -> list[Problem]:
    """`map: {VARIABLE: field}`: the variables must be ones that a process can be given."""
    if renamed is None:
        return []
    if not isinstance(renamed, Mapping):
        return [Problem(path, f"a value of type {type(renamed).__name__}", "a mapping VARIABLE: field")]
    problems = []
    for name, field in renamed.items():
        if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
            problems.append(Problem(f"{path}:{name}", f"{name!r}", "the name of an environment variable"))
        elif steers(name):
            problems.append(Problem(f"{path}:{name}", f"{name!r}", _CREDENTIAL))
        elif name.startswith("TF_VAR_"):
            expected = f"a secret variable of the component: secret_variables: {{{name[7:]}: …}}"
            problems.append(Problem(f"{path}:{name}", f"{name!r}", expected))
        elif not _is_text(field):
            problems.append(Problem(f"{path}:{name}", f"a value of type {type(field).__name__}", "a field's name"))
    return problems


def validate_vault(settings: Any) -> list[Problem]:
    """What is wrong with `infrastructure:vault`, without asking Vault."""
    path = "infrastructure:vault"
    if not isinstance(settings, Mapping):
        return [Problem(path, f"a value of type {type(settings).__name__}", "a mapping with address and auth")]
    problems = _unknown(settings, ("address", "auth", "namespace", "ca", "timeout"), path)
    auth = settings.get("auth") or {}
    if not isinstance(auth, Mapping):
        return [*problems, Problem(f"{path}:auth", f"a value of type {type(auth).__name__}", "a mapping")]
    names = ("token", "role_id", "secret_id", "wrapped_secret_id")
    problems += _unknown(auth, ("method", "mount", *names), f"{path}:auth")
    if auth.get("method", "token") not in ("token", "approle"):
        problems.append(Problem(f"{path}:auth:method", repr(auth["method"]), "token or approle"))
    if auth.get("method") == "approle" and "role_id" not in auth:
        problems.append(Problem(f"{path}:auth:role_id", "nothing", "the role's id, or where it is"))
    for name in names:
        value = auth.get(name, "")
        if not isinstance(value, str) and not (isinstance(value, Mapping) and [*value] in _PLACES):
            expected = "{environment: NAME}, {file: PATH} or {pillar: PATH}"
            problems.append(Problem(f"{path}:auth:{name}", f"a value of type {type(value).__name__}", expected))
    return problems


def _unknown(settings: Mapping[str, Any], known: tuple[str, ...], path: str) -> list[Problem]:
    return [
        Problem(
            f"{path}:{name}",
            f"the unknown key {name!r}",
            "one of: " + ", ".join(known),
            nearest(name, known),
        )
        for name in map(str, settings)
        if name not in known
    ]
