"""Parameters from a query string or form body, by the model.

1. The text is cut into names and values, decoded strictly.
2. Names are cut at the dots into a tree: ``Filter.1.Name=x`` is ``{"Filter": {"1": {"Name": "x"}}}``.
3. The tree is read by the action's input shape, which is compiled once to functions. Lists are ``X.N`` or
   ``X.member.N``, start at 1, stop at the first gap and have at most 1,024 entries. An empty value counts as
   absent. What the shape doesn't know is an error that names it.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any, Union
from urllib.parse import unquote_to_bytes

from hive_emulator.errors import ApiError

Node = Union[str, "dict[str, Node]"]
Read = Callable[[Node, str], Any]  # a node of the tree and its path, for errors

MAX_LIST = 1024
MAX_FIELDS = 20_000
MAX_NAME = 1_000
_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}\Z")
_NUMBER = re.compile(r"[+-]?([0-9]{1,30}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][+-]?[0-9]{1,2})?\Z")
_INDEX = re.compile(r"[1-9][0-9]{0,4}\Z")
_LIMITS = {"integer": 2**31, "long": 2**63}


def _malformed(message: str) -> ApiError:
    return ApiError("MalformedQueryString", message)


def fields(raw: bytes) -> dict[str, str]:
    """Names and values of ``a=b&c=d``."""
    if raw.count(b"&") >= MAX_FIELDS:
        raise _malformed(f"The request has more than {MAX_FIELDS:,} parameters")
    if b"%" in raw and _BAD_ESCAPE.search(raw):
        raise _malformed("The request has a '%' that is not followed by two hexadecimal digits")
    plain = b"%" not in raw and b"+" not in raw
    try:
        text = raw.decode("utf-8")
        found: dict[str, str] = {}
        for pair in text.split("&"):
            name, _, value = pair.partition("=")
            if not plain and ("%" in pair or "+" in pair):
                name, value = _unquoted(name), _unquoted(value)
            if name in found:
                raise _malformed(f"The parameter {name[:60]} is given twice")
            found[name] = value
    except UnicodeDecodeError:
        raise _malformed("The request is not valid UTF-8") from None
    found.pop("", None)
    if len(raw) > MAX_NAME and len(max(found, key=len, default="")) > MAX_NAME:
        raise _malformed(f"A parameter name is longer than {MAX_NAME:,} characters")
    return found


def _unquoted(text: str) -> str:
    return unquote_to_bytes(text.replace("+", " ")).decode("utf-8")


def tree(flat: dict[str, str]) -> dict[str, Node]:
    """Names cut at the dots."""
    root: dict[str, Node] = {}
    for name, value in flat.items():
        if "." not in name:
            branch, leaf = root, name
        else:
            *path, leaf = name.split(".")
            branch = root
            for part in path:
                below = branch.setdefault(part, {})
                if isinstance(below, str):
                    raise _malformed(f"The parameter {name} has both a value and members")
                branch = below
        if leaf in branch:
            raise _malformed(f"The parameter {name} has both a value and members")
        branch[leaf] = value
    return root


class Reader:
    """Reads values of one service's shapes. Shared by its actions, so that a shape is compiled once."""

    def __init__(self, shapes: dict[str, Any], ec2: bool) -> None:
        self._shapes = shapes
        self._ec2 = ec2
        self._done: dict[str, Read] = {}

    def parameters(self, name: str | None, node: dict[str, Node]) -> dict[str, Any]:
        """``node`` read as the shape ``name``; an action without one has no parameters."""
        if name is not None:
            return self.shape(name)(node, "")
        if node:
            raise _unknown(next(iter(node)))
        return {}

    def shape(self, name: str) -> Read:
        """The function that reads values of the shape ``name``."""
        if name not in self._done:
            # A shape may contain itself: until it is ready, its users go through the table.
            self._done[name] = lambda node, path: self._done[name](node, path)
            self._done[name] = self._compile(self._shapes[name])
        return self._done[name]

    def _compile(self, shape: dict[str, Any]) -> Read:
        if shape["type"] == "structure":
            return self._structure(shape)
        return self._list(shape) if shape["type"] == "list" else _compiled_scalar(shape)

    def _structure(self, shape: dict[str, Any]) -> Read:
        names = wire_names(shape, self._ec2)
        members = {wire: (key, self.shape(name)) for wire, (key, name) in names.items()}
        required = shape.get("required", ())

        def read(node: Node, path: str) -> dict[str, Any]:
            if isinstance(node, str):
                raise _malformed(f"The parameter {path} has a value but must have members")
            found: dict[str, Any] = {}
            for wire, below in node.items():
                member = members.get(wire)
                here = f"{path}.{wire}" if path else wire
                if member is None:
                    raise _unknown(here)
                if below != "":
                    value = member[1](below, here)
                    if value or not isinstance(value, (dict, list)):
                        found[member[0]] = value
            for key in required:
                if key not in found:
                    raise _missing(path, shape, key, self._ec2)
            return found

        return read

    def _list(self, shape: dict[str, Any]) -> Read:
        entry = self.shape(shape["member"]["shape"])

        def read(node: Node, path: str) -> list[Any]:
            if isinstance(node, str):
                raise _malformed(f"The parameter {path} is a list: number its entries, {path}.1")
            wrapped = node.get("member")
            if isinstance(wrapped, dict) and len(node) == 1:
                node, path = wrapped, f"{path}.member"
            if len(node) > MAX_LIST:
                raise _malformed(f"The list {path} has more than {MAX_LIST:,} entries")
            found = []
            for number in range(1, len(node) + 1):
                below = node.get(str(number))
                if below is None:  # the first gap ends the list
                    _check_indexes(node, path)
                    break
                # An empty entry keeps its place: "describe the id ''" must not mean "describe all".
                found.append(entry(below, f"{path}.{number}"))
            return found

        return read


def _check_indexes(node: dict[str, Node], path: str) -> None:
    for index in node:
        if not _INDEX.match(index):
            raise _unknown(f"{path}.{index}")


def _unknown(path: str) -> ApiError:
    return ApiError("UnknownParameter", f"The parameter {path} is not recognized")


def _missing(path: str, shape: dict[str, Any], member: str, ec2: bool) -> ApiError:
    wire = next(name for name, (key, _) in wire_names(shape, ec2).items() if key == member)
    return ApiError("MissingParameter", f"The request must contain the parameter {path + '.' if path else ''}{wire}")


def wire_names(shape: dict[str, Any], ec2: bool) -> dict[str, tuple[str, str]]:
    """A structure's members by their name in a request: (botocore's member, shape). Kept on the shape."""
    found = shape.get("_wire")
    if found is None:
        found = shape["_wire"] = {
            _wire_name(key, ref, ec2): (key, ref["shape"]) for key, ref in shape["members"].items()
        }
    return found


def _wire_name(key: str, ref: dict[str, Any], ec2: bool) -> str:
    if not ec2:
        return ref.get("locationName", key)
    name = ref.get("queryName") or ref.get("locationName")
    return name[0].upper() + name[1:] if name and "queryName" not in ref else name or key


def _compiled_scalar(shape: dict[str, Any]) -> Read:
    kind = shape["type"]

    def read(node: Node, path: str) -> Any:
        if not isinstance(node, str):
            raise _unknown(f"{path}.{next(iter(node))}")
        return _scalar(shape, kind, node, path)

    return read


def _scalar(shape: dict[str, Any], kind: str, text: str, path: str) -> Any:
    if kind == "string":
        if not text.isprintable() and _UNPRINTABLE.search(text):
            raise _invalid(path, text, "It has characters that can't be used.")
        if "enum" in shape and text not in shape["enum"]:
            raise _invalid(path, text, f"Valid values are: {', '.join(shape['enum'])}.")
        return text
    try:
        return _READERS[kind](text, kind)
    except (ValueError, OverflowError):
        raise _invalid(path, text, _EXPECTED[kind]) from None


def _invalid(path: str, text: str, why: str) -> ApiError:
    shown = text if len(text) <= 100 else text[:100] + "…"
    return ApiError("InvalidParameterValue", f"Value ({shown}) for parameter {path} is invalid. {why}")


def _integer(text: str, kind: str) -> int:
    if not _INTEGER.match(text):
        raise ValueError
    number = int(text)
    if not -_LIMITS[kind] <= number < _LIMITS[kind]:
        raise ValueError
    return number


def _float(text: str, _: str) -> float:
    if not _NUMBER.match(text):
        raise ValueError
    return float(text)


def _boolean(text: str, _: str) -> bool:
    word = text.lower()
    if word not in ("true", "false"):
        raise ValueError
    return word == "true"


def _blob(text: str, _: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError from None


def _timestamp(text: str, _: str) -> datetime:
    when = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text)
    return when.replace(tzinfo=timezone.utc) if when.tzinfo is None else when.astimezone(timezone.utc)


_READERS: dict[str, Any] = {
    "integer": _integer,
    "long": _integer,
    "float": _float,
    "double": _float,
    "boolean": _boolean,
    "blob": _blob,
    "timestamp": _timestamp,
}
_EXPECTED = {
    "integer": "Expected a whole number of at most 32 bits.",
    "long": "Expected a whole number of at most 64 bits.",
    "float": "Expected a number.",
    "double": "Expected a number.",
    "boolean": "Expected true or false.",
    "blob": "Expected base64.",
    "timestamp": "Expected a time such as 2026-01-02T03:04:05Z.",
}
