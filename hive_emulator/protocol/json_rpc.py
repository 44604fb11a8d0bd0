"""Parameters and answers of a service that speaks JSON (``X-Amz-Target: AmazonSSM.GetParameter``), by the model."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson

from hive_emulator.errors import ApiError

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "long": (int,),
    "double": (int, float),
    "boolean": (bool,),
    "timestamp": (int, float),
}


def document(body: bytes) -> dict[str, Any]:
    """The object that a request's body is."""
    try:
        found = orjson.loads(body) if body else {}
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ApiError("SerializationException", "The request's body is not a JSON object")
    return found


class JsonReader:
    """Reads the parameters of one service's actions."""

    def __init__(self, shapes: dict[str, Any]) -> None:
        self._shapes = shapes

    def parameters(self, shape: str | None, given: dict[str, Any]) -> dict[str, Any]:
        """What is ``given`` as the shape has it; members that it doesn't know are ignored, as AWS does."""
        found: dict[str, Any] = self._value(shape, given, "") if shape else {}
        return found

    def _value(self, name: str, value: Any, path: str) -> Any:
        shape = self._shapes[name]
        if shape["type"] == "structure" and isinstance(value, dict):
            return self._structure(shape, value, path)
        if shape["type"] == "list" and isinstance(value, list):
            return [self._value(shape["member"]["shape"], each, path) for each in value]
        if type(value) not in _TYPES.get(shape["type"], ()):
            raise ApiError("SerializationException", f"{path or 'The body'} must be of type {shape['type']}")
        return value

    def _structure(self, shape: dict[str, Any], value: dict[str, Any], path: str) -> dict[str, Any]:
        missing = [key for key in shape.get("required", ()) if value.get(key) is None]
        if missing:
            raise ApiError("ValidationException", f"The request must contain {path}{missing[0]}")
        members = shape["members"]
        return {
            key: self._value(members[key]["shape"], item, f"{path}{key}.")
            for key, item in value.items()
            if key in members and item is not None
        }


class JsonSerialiser:
    """Writes answers of one service's actions."""

    def __init__(self, shapes: dict[str, Any]) -> None:
        self._shapes = shapes

    def text(self, name: str, value: Any) -> str:
        """The members of ``value``, of the shape ``name``, as JSON."""
        return orjson.dumps(self._known(name, value)).decode()

    def _known(self, name: str, value: Any) -> Any:
        shape = self._shapes[name]
        if shape["type"] == "structure":
            members = shape["members"]
            return {key: self._known(members[key]["shape"], value[key]) for key in value if key in members}
        if shape["type"] == "list":
            return [self._known(shape["member"]["shape"], each) for each in value]
        if shape["type"] == "timestamp":
            when = value if isinstance(value, datetime) else datetime.fromisoformat(value.replace("Z", "+00:00"))
            return when.timestamp()
        return value
