"""Parameters checked against the table of calls, with Proxmox's words for what is wrong.

Values of a form are strings: they are read as the type that the schema names, and then judged by jsonschema. All that
is wrong with a call is said at once, by parameter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import jsonschema

from proxmox_emulator.api import formats
from proxmox_emulator.errors import wrong_parameters
from proxmox_emulator.property_strings import MalformedProperty

UNKNOWN = "property is not defined in schema and the schema does not allow additional properties"
MISSING = "property is missing and it is not optional"
_TRUE, _FALSE = ("1", "on", "yes", "true"), ("0", "off", "no", "false")
_NUMBERED = re.compile(r"(.+)\[(\d+)\]\Z")

# jsonschema's keyword → what Proxmox says, from the value and the limit.
_SAID: dict[str, Callable[[Any, Any], str]] = {
    "minimum": lambda _, limit: f"value must have a minimum value of {limit}",
    "maximum": lambda _, limit: f"value must have a maximum value of {limit}",
    "minLength": lambda _, limit: f"value must be at least {limit} characters long",
    "maxLength": lambda _, limit: f"value may only be {limit} characters long",
    "pattern": lambda _, __: "value does not match the regex pattern",
    "enum": lambda value, allowed: f"value '{value}' does not have a value in the enumeration '{', '.join(allowed)}'",
    "type": lambda value, wanted: f"type check ('{wanted}') failed - got '{value}'",
}


class Parameter:
    """One parameter: how it is read and what it may be."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.kind = schema["type"]
        self.format = schema.get("format", "")
        # A boolean is kept as Proxmox keeps it, as 0 or 1.
        judged = {**schema, "type": "integer"} if self.kind == "boolean" else schema
        self._validator = jsonschema.Draft202012Validator(judged, format_checker=formats.CHECKER)

    def read(self, value: Any) -> Any:
        """The value in its type; what can't be read is left for `problem()` to name."""
        if self.kind == "boolean" and str(value).lower() in _TRUE + _FALSE:
            return int(str(value).lower() in _TRUE)
        if self.kind == "integer" and isinstance(value, str) and re.match(r"-?[0-9]{1,18}\Z", value):
            return int(value)
        if self.kind == "number" and isinstance(value, str) and re.match(r"-?[0-9]{1,15}(\.[0-9]{1,9})?\Z", value):
            return float(value) if "." in value else int(value)
        if self.kind == "string" and isinstance(value, int | float):
            return str(value)
        return value

    def problem(self, name: str, value: Any) -> str:
        """What is wrong with a value that was read, in Proxmox's words; empty if nothing is."""
        for error in self._validator.iter_errors(value):
            if error.validator == "format":
                return f"invalid format - {error.cause}"
            if error.validator == "type":
                return _SAID["type"](value, self.kind)
            return _SAID[str(error.validator)](value, error.validator_value)
        return self._property_problem(name, value) if self.format.startswith("property:") else ""

    def _property_problem(self, name: str, value: str) -> str:
        try:
            problems = formats.property_problems(self.format.removeprefix("property:"), value)
        except MalformedProperty as error:
            return f"invalid format - {error}"
        lines = "".join(f"{name}.{key}: {text}\n" for key, text in problems.items())
        return f"invalid format - format error\n{lines}" if lines else ""


class Parameters:
    """What one call takes."""

    def __init__(self, schemas: Mapping[str, dict[str, Any]], required: frozenset[str]) -> None:
        self.required = required
        self._named: dict[str, Parameter] = {}
        for name, schema in schemas.items():
            numbered, parameter = _NUMBERED.match(name), Parameter(schema)
            names = [f"{numbered[1]}{number}" for number in range(int(numbered[2]) + 1)] if numbered else [name]
            self._named.update(dict.fromkeys(names, parameter))

    def check(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The values in their types; raises the 400 that names every one that is wrong."""
        read: dict[str, Any] = {}
        problems = {name: MISSING for name in self.required if given.get(name) in (None, "")}
        for name, value in given.items():
            parameter = self._named.get(name)
            if parameter is None:
                problems[name] = UNKNOWN
            elif name not in problems:
                read[name] = parameter.read(value)
                if problem := parameter.problem(name, read[name]):
                    problems[name] = problem
        if problems:
            raise wrong_parameters(problems)
        return read
