"""Parameters from a query string or form body, by the model.

1. The text is cut into names and values, decoded strictly.
2. The names are cut at the dots into a tree, ``Filter.1.Name`` is ``{"Filter": {"1": {"Name": …}}}``, and the tree is
   compiled by the action's input shape. Lists are ``X.N`` or ``X.member.N``, start at 1, stop at the first gap and
   have at most 1,024 entries. What the shape doesn't know is an error that names it.
3. Values are then read into their places. An empty one counts as absent, unless the overlay says that it means
   something.

Clients send the same few sets of names again and again, so what was compiled is kept for them.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any, Union
from urllib.parse import unquote_to_bytes

from hive_emulator.errors import ApiError

Given = dict[str, str]  # values by their whole names
Node = Union[str, "dict[str, Node]"]  # a whole name, or what is below
Read = Callable[[Given], Any]  # None: absent

MAX_LIST = 1024
MAX_FIELDS = 10_000
MAX_ESCAPES = 65_536  # %XX in a request: fifty tags in Chinese, keys and values as long as they may be, have 57,600
MAX_TEXT = 1024 * 1024  # bytes of all names and values
MAX_NAME = 256
MAX_DEPTH = 20  # parts of a name
MAX_KEPT = 50  # names in a set that is kept: larger ones hardly come again
_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}\Z")
_NUMBER = re.compile(r"[+-]?([0-9]{1,30}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][+-]?[0-9]{1,2})?\Z")
_INDEX = re.compile(r"[1-9][0-9]{0,4}\Z")
_LIMITS = {"integer": 2**31, "long": 2**63}


def _malformed(message: str) -> ApiError:
    return ApiError("MalformedQueryString", message)


def fields(raw: bytes, given: Given | None = None) -> Given:
    """Names and values of ``a=b&c.d=e``, added to ``given`` if there is one."""
    if len(raw) > MAX_TEXT:
        raise _malformed(f"The request's parameters are longer than {MAX_TEXT:,} bytes")
    if raw.count(b"&") >= MAX_FIELDS:
        raise _malformed(f"The request has more than {MAX_FIELDS:,} parameters")
    if raw.count(b"%") > MAX_ESCAPES:
        raise _malformed(f"The request has more than {MAX_ESCAPES:,} characters that are written as %XX")
    escaped = _is_escaped(raw)
    given = {} if given is None else given
    try:
        for pair in raw.decode("utf-8").split("&"):
            name, _, value = pair.partition("=")
            if escaped:
                name, value = _unquoted(name), _unquoted(value)
            if name in given and name:
                raise _malformed(f"The parameter {name[:60]} is given twice")
            given[name] = value
    except UnicodeDecodeError:
        raise _malformed("The request is not valid UTF-8") from None
    given.pop("", None)
    return given


def _is_escaped(raw: bytes) -> bool:
    if b"%" not in raw:
        return b"+" in raw
    if _BAD_ESCAPE.search(raw):
        raise _malformed("The request has a '%' that is not followed by two hexadecimal digits")
    return True


def _unquoted(text: str) -> str:
    text = text.replace("+", " ")
    return unquote_to_bytes(text).decode("utf-8") if "%" in text else text


def _tree(names: Iterable[str]) -> dict[str, Node]:
    root: dict[str, Node] = {}
    for name in names:
        if len(name) > MAX_NAME:
            raise _malformed(f"A parameter name is longer than {MAX_NAME:,} characters")
        if name.startswith("."):
            raise _unknown(name)
        *path, leaf = name.split(".")
        if len(path) >= MAX_DEPTH:
            raise _malformed(f"The parameter {name[:60]} has more than {MAX_DEPTH} parts")
        branch = root
        for part in path:
            below = branch.setdefault(part, {})
            if isinstance(below, str):
                raise _both(below)
            branch = below
        if leaf in branch:
            raise _both(name)
        branch[leaf] = name
    return root


def _both(name: str) -> ApiError:
    return _malformed(f"The parameter {name[:60]} has both a value and members")


class Reader:
    """Reads the parameters of one service's actions."""

    def __init__(self, shapes: dict[str, Any], ec2: bool) -> None:
        self._shapes = shapes
        self._ec2 = ec2
        self._kept = lru_cache(maxsize=512)(self._compiled)

    def parameters(self, shape: str | None, given: Given) -> dict[str, Any]:
        """What is ``given`` as the shape has it; an action without one has no parameters."""
        compiled = self._kept if len(given) <= MAX_KEPT else self._compiled
        found: dict[str, Any] = compiled(shape, tuple(given))(given)
        return found

    def _compiled(self, shape: str | None, names: tuple[str, ...]) -> Read:
        return self._structure({"members": {}} if shape is None else self._shapes[shape], _tree(names), "")

    def _value(self, shape: dict[str, Any], node: Node, path: str, may_be_empty: bool) -> Read:
        """How to read what is at ``path``; a value that is empty counts as absent if it may not be."""
        if isinstance(node, str):
            read = _no_value if shape["type"] in ("structure", "list") else _text
            return read(shape, node, may_be_empty)
        if shape["type"] == "structure":
            return self._structure(shape, node, path)
        if shape["type"] == "list":
            return self._list(shape, node, path)
        raise _unknown(_below(path, next(iter(node))))

    def _structure(self, shape: dict[str, Any], tree: dict[str, Node], path: str) -> Read:
        names = wire_names(shape, self._ec2)
        may_be_empty = shape.get("mayBeEmpty", ())  # of overlay.json
        members: list[tuple[str, Read]] = []
        for wire, node in tree.items():
            if wire not in names:
                raise _unknown(_below(path, wire))
            key, name = names[wire]
            members.append((key, self._value(self._shapes[name], node, _below(path, wire), key in may_be_empty)))
        required = {key: _below(path, wire) for wire, (key, _) in names.items() if key in shape.get("required", ())}

        def read(given: Given) -> dict[str, Any]:
            found = {}
            for key, read_member in members:
                value = read_member(given)
                if value or (value is not None and value != {}):
                    found[key] = value
            for key in required:
                if key not in found:
                    raise ApiError("MissingParameter", f"The request must contain the parameter {required[key]}")
            return found

        return read

    def _list(self, shape: dict[str, Any], tree: dict[str, Node], path: str) -> Read:
        wrapped = tree.get("member")
        if isinstance(wrapped, dict) and len(tree) == 1:
            tree, path = wrapped, _below(path, "member")
        if len(tree) > MAX_LIST:
            raise _malformed(f"The list {path} has more than {MAX_LIST:,} entries")
        entry = self._shapes[shape["member"]["shape"]]
        entries: list[Read] = []
        for number in range(1, len(tree) + 1):
            node = tree.get(str(number))
            if node is None:  # the first gap ends the list
                _check_indexes(tree, path)
                break
            # An empty entry keeps its place: "describe the id ''" must not mean "describe all".
            entries.append(self._value(entry, node, _below(path, str(number)), may_be_empty=True))
        return lambda given: [read(given) for read in entries] or None


def _below(path: str, part: str) -> str:
    return f"{path}.{part}" if path else part


def _check_indexes(tree: dict[str, Node], path: str) -> None:
    for index in tree:
        if not _INDEX.match(index):
            raise _unknown(_below(path, index))


def _unknown(name: str) -> ApiError:
    return ApiError("UnknownParameter", f"The parameter {name} is not recognized")


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


def _no_value(shape: dict[str, Any], name: str, may_be_empty: bool) -> Read:
    is_list = shape["type"] == "list"
    why = f"is a list: number its entries, {name}.1" if is_list else "has a value but must have members"

    def read(given: Given) -> None:
        if given[name] or may_be_empty:
            raise _malformed(f"The parameter {name} {why}")

    return read


def _text(shape: dict[str, Any], name: str, may_be_empty: bool) -> Read:
    kind = shape["type"]
    is_any_text = kind == "string" and "enum" not in shape

    def read(given: Given) -> Any:
        text = given[name]
        if not text and not may_be_empty:
            return None
        return text if is_any_text and text.isprintable() else _scalar(shape, kind, text, name)

    return read


def _scalar(shape: dict[str, Any], kind: str, text: str, name: str) -> Any:
    if kind == "string":
        if _UNPRINTABLE.search(text):
            raise _invalid(name, text, "It has characters that can't be used.")
        if "enum" in shape and text not in shape["enum"]:
            raise _invalid(name, text, f"Valid values are: {', '.join(shape['enum'])}.")
        return text
    try:
        return _READERS[kind](text, kind)
    except (ValueError, OverflowError):
        raise _invalid(name, text, _EXPECTED[kind]) from None


def _invalid(name: str, text: str, why: str) -> ApiError:
    shown = text if len(text) <= 100 else text[:100] + "…"
    return ApiError("InvalidParameterValue", f"Value ({shown}) for parameter {name} is invalid. {why}")


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
