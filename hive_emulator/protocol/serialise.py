"""Answers and errors as XML.

A shape is compiled once to a function that appends a value's text to a list, which is joined once. The text of a
stored record is kept on the record: a record is never changed, only replaced, so it stays true. Only members of the
shape are written, so private members and whatever else a record holds stay inside.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any, NamedTuple

from hive_emulator.store.state import Record

Write = Callable[[Any, "list[str]"], None]  # appends a value's text to the list


class _Member(NamedTuple):
    head: str
    tail: str
    to_text: Callable[[Any], str] | None  # of a scalar
    write: Write
    is_enum: bool


# What XML 1.0 can't carry at all; the parser refuses it in requests, this is for what comes from elsewhere.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SPECIAL = re.compile("[&<>\r\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def escape(text: str) -> str:
    """``text`` as character data."""
    if not _SPECIAL.search(text):
        return text
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")
    return _ILLEGAL.sub("\ufffd", text)


class Serialiser:
    """Writes values of one service's shapes. Shared by its actions, so that they share kept texts too."""

    def __init__(self, shapes: dict[str, Any]) -> None:
        self._shapes = shapes
        self._done: dict[str, Write] = {}

    def text(self, name: str, value: Any) -> str:
        """The members of ``value``, of the shape ``name``, as XML."""
        out: list[str] = []
        self.shape(name)(value, out)
        return "".join(out)

    def shape(self, name: str) -> Write:
        """The function that writes values of the shape ``name``."""
        if name not in self._done:
            # A shape may contain itself: until it is ready, its users go through the table.
            self._done[name] = lambda value, out: self._done[name](value, out)
            self._done[name] = self._compile(self._shapes[name])
        return self._done[name]

    def _compile(self, shape: dict[str, Any]) -> Write:
        if shape["type"] == "structure":
            return self._structure(shape)
        if shape["type"] == "list":
            return self._list(shape)
        to_text = _SCALARS[shape["type"]]
        return lambda value, out: out.append(to_text(value))

    def _structure(self, shape: dict[str, Any]) -> Write:
        members = {key: self._member(key, ref) for key, ref in shape["members"].items()}

        def write_members(value: dict[str, Any], out: list[str]) -> None:
            for key, item in value.items():
                member = members.get(key)
                if member is None or item is None or (item == "" and member.is_enum):
                    continue
                if member.to_text is not None:
                    out.append(f"{member.head}{member.to_text(item)}{member.tail}")
                else:
                    out.append(member.head)
                    member.write(item, out)
                    out.append(member.tail)

        def write(value: dict[str, Any], out: list[str]) -> None:
            if type(value) is not Record:
                write_members(value, out)
                return
            kept = getattr(value, "xml", None)
            if kept is None or kept[0] is not write:
                parts: list[str] = []
                write_members(value, parts)
                kept = value.xml = (write, "".join(parts))
            out.append(kept[1])

        return write

    def _member(self, key: str, ref: dict[str, Any]) -> _Member:
        shape = self._shapes[ref["shape"]]
        if shape.get("flattened") or ref.get("flattened"):
            raise ValueError(f"flattened list {ref['shape']}: no service here has one in its answers")
        tag = ref.get("locationName", key)
        to_text = _SCALARS.get(shape["type"])
        return _Member(f"<{tag}>", f"</{tag}>", to_text, self.shape(ref["shape"]), "enum" in shape)

    def _list(self, shape: dict[str, Any]) -> Write:
        tag = shape["member"].get("locationName", "member")
        write = self.shape(shape["member"]["shape"])
        head, tail = f"<{tag}>", f"</{tag}>"

        def write_items(items: Any, out: list[str]) -> None:
            for item in items:
                out.append(head)
                write(item, out)
                out.append(tail)

        return write_items


def _timestamp(value: Any) -> str:
    if isinstance(value, datetime):
        utc = value.astimezone(timezone.utc)
        return utc.strftime("%Y-%m-%dT%H:%M:%S.") + f"{utc.microsecond // 1000:03d}Z"
    return escape(value)


def _blob(value: Any) -> str:
    return base64.b64encode(value if isinstance(value, bytes) else value.encode()).decode()


_SCALARS: dict[str, Callable[[Any], str]] = {
    "string": lambda value: escape(value if isinstance(value, str) else str(value)),
    "integer": str,
    "long": str,
    "float": repr,
    "double": repr,
    "boolean": lambda value: "true" if value else "false",
    "timestamp": _timestamp,
    "blob": _blob,
}


def error_document(protocol: str, code: str, message: str, request_id: str) -> str:
    """An error as the protocol's clients read it: older Go SDKs know no other root for ec2."""
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    inner = f"<Code>{escape(code)}</Code><Message>{escape(message)}</Message>"
    if protocol == "ec2":
        errors = f"<Errors><Error>{inner}</Error></Errors>"
        return f"{head}<Response>{errors}<RequestID>{request_id}</RequestID></Response>"
    return (
        f"{head}<ErrorResponse><Error><Type>Sender</Type>{inner}</Error>"
        f"<RequestId>{request_id}</RequestId></ErrorResponse>"
    )
