"""Parameters from a query string or form body, by the model.

1. The text is cut into names and values, decoded strictly, and names are cut at the dots into a tree:
   ``Filter.1.Name=x`` is ``{"Filter": {"1": {"Name": "x"}}}``.
2. The tree is read by the action's input shape, which is compiled once to functions. Lists are ``X.N`` or
   ``X.member.N``, start at 1, stop at the first gap and have at most 1,024 entries. An empty value counts as
   absent, unless the overlay says that it means something. What the shape doesn't know is an error that names it.
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
Path = Union["tuple[Path, str | int]", None]  # where a node is, from the leaf up: only errors spell it out
Read = Callable[[Node, Path], Any]

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


def tree(raw: bytes, root: dict[str, Node] | None = None) -> dict[str, Node]:
    """Names and values of ``a=b&c.d=e``, the names cut at the dots, added to ``root`` if there is one."""
    if raw.count(b"&") >= MAX_FIELDS:
        raise _malformed(f"The request has more than {MAX_FIELDS:,} parameters")
    escaped = _is_escaped(raw)
    root = {} if root is None else root
    try:
        for pair in raw.decode("utf-8").split("&"):
            name, _, value = pair.partition("=")
            if escaped:
                name, value = _unquoted(name), _unquoted(value)
            if len(name) > MAX_NAME:
                raise _malformed(f"A parameter name is longer than {MAX_NAME:,} characters")
            branch, leaf = _branch(root, name) if "." in name else (root, name)
            if leaf in branch:
                raise _given_twice(name, branch[leaf])
            branch[leaf] = value
    except UnicodeDecodeError:
        raise _malformed("The request is not valid UTF-8") from None
    root.pop("", None)
    return root


def _is_escaped(raw: bytes) -> bool:
    if b"%" not in raw:
        return b"+" in raw
    if _BAD_ESCAPE.search(raw):
        raise _malformed("The request has a '%' that is not followed by two hexadecimal digits")
    return True


def _unquoted(text: str) -> str:
    text = text.replace("+", " ")
    return unquote_to_bytes(text).decode("utf-8") if "%" in text else text


def _branch(root: dict[str, Node], name: str) -> tuple[dict[str, Node], str]:
    """Where ``name`` belongs, and its last part."""
    branch = root
    path = name.split(".")
    leaf = path.pop()
    for part in path:
        below = branch.get(part)
        if below is None:
            below = branch[part] = {}
        elif isinstance(below, str):
            raise _given_twice(name, {})
        branch = below
    return branch, leaf


def _given_twice(name: str, before: Node) -> ApiError:
    how = "is given twice" if isinstance(before, str) else "has both a value and members"
    return _malformed(f"The parameter {name[:60]} {how}")


class Reader:
    """Reads values of one service's shapes. Shared by its actions, so that a shape is compiled once."""

    def __init__(self, shapes: dict[str, Any], ec2: bool) -> None:
        self._shapes = shapes
        self._ec2 = ec2
        self._done: dict[str, Read] = {}

    def parameters(self, name: str | None, node: dict[str, Node]) -> dict[str, Any]:
        """``node`` read as the shape ``name``; an action without one has no parameters."""
        if name is not None:
            return self.shape(name)(node, None)
        if node:
            raise _unknown((None, next(iter(node))))
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
        may_be_empty = shape.get("mayBeEmpty", ())  # of overlay.json

        def read(node: Node, path: Path) -> dict[str, Any]:
            if isinstance(node, str):
                raise _malformed(f"The parameter {_spelt(path)} has a value but must have members")
            found: dict[str, Any] = {}
            for wire, below in node.items():
                member = members.get(wire)
                if member is None:
                    raise _unknown((path, wire))
                key, read_member = member
                if below != "" or key in may_be_empty:
                    value = read_member(below, (path, wire))
                    if value or not isinstance(value, (dict, list)):
                        found[key] = value
            for key in required:
                if key not in found:
                    raise _missing(path, shape, key, self._ec2)
            return found

        return read

    def _list(self, shape: dict[str, Any]) -> Read:
        entry = self.shape(shape["member"]["shape"])

        def read(node: Node, path: Path) -> list[Any]:
            if isinstance(node, str):
                raise _malformed(f"The parameter {_spelt(path)} is a list: number its entries, {_spelt(path)}.1")
            wrapped = node.get("member")
            if isinstance(wrapped, dict) and len(node) == 1:
                node, path = wrapped, (path, "member")
            if len(node) > MAX_LIST:
                raise _malformed(f"The list {_spelt(path)} has more than {MAX_LIST:,} entries")
            found = []
            for number in range(1, len(node) + 1):
                below = node.get(str(number))
                if below is None:  # the first gap ends the list
                    _check_indexes(node, path)
                    break
                # An empty entry keeps its place: "describe the id ''" must not mean "describe all".
                found.append(entry(below, (path, number)))
            return found

        return read


def _check_indexes(node: dict[str, Node], path: Path) -> None:
    for index in node:
        if not _INDEX.match(index):
            raise _unknown((path, index))


def _spelt(path: Path) -> str:
    names: list[str] = []
    while path is not None:
        path, name = path
        names.append(str(name))
    return ".".join(reversed(names))


def _unknown(path: Path) -> ApiError:
    return ApiError("UnknownParameter", f"The parameter {_spelt(path)} is not recognized")


def _missing(path: Path, shape: dict[str, Any], member: str, ec2: bool) -> ApiError:
    wire = next(name for name, (key, _) in wire_names(shape, ec2).items() if key == member)
    return ApiError("MissingParameter", f"The request must contain the parameter {_spelt((path, wire))}")


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
    is_any_text = kind == "string" and "enum" not in shape

    def read(node: Node, path: Path) -> Any:
        if not isinstance(node, str):
            raise _unknown((path, next(iter(node))))
        return node if is_any_text and node.isprintable() else _scalar(shape, kind, node, path)

    return read


def _scalar(shape: dict[str, Any], kind: str, text: str, path: Path) -> Any:
    if kind == "string":
        if _UNPRINTABLE.search(text):
            raise _invalid(path, text, "It has characters that can't be used.")
        if "enum" in shape and text not in shape["enum"]:
            raise _invalid(path, text, f"Valid values are: {', '.join(shape['enum'])}.")
        return text
    try:
        return _READERS[kind](text, kind)
    except (ValueError, OverflowError):
        raise _invalid(path, text, _EXPECTED[kind]) from None


def _invalid(path: Path, text: str, why: str) -> ApiError:
    shown = text if len(text) <= 100 else text[:100] + "…"
    return ApiError("InvalidParameterValue", f"Value ({shown}) for parameter {_spelt(path)} is invalid. {why}")


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
