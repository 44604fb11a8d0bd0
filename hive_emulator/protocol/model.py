"""The service models at run time: ``model.json`` under ``overlay.json``, compiled action by action."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from hive_emulator.protocol.json_rpc import JsonReader, JsonSerialiser
from hive_emulator.protocol.parse import Reader
from hive_emulator.protocol.serialise import Serialiser

_ID = "{request id}"  # where the request's id goes
_HERE = Path(__file__).parent


@lru_cache(maxsize=1)
def services() -> dict[str, Any]:
    """Both files, merged: an overlay's member replaces the model's, a null takes it away."""
    model = json.loads((_HERE / "model.json").read_bytes())
    model.pop("botocore")  # the version it was made from
    _lay_over(model, json.loads((_HERE / "overlay.json").read_bytes()))
    return model


def _lay_over(model: dict[str, Any], overlay: dict[str, Any]) -> None:
    for key, value in overlay.items():
        if value is None:
            model.pop(key, None)
        elif isinstance(value, dict) and isinstance(model.get(key), dict):
            _lay_over(model[key], value)
        else:
            model[key] = value


@dataclass(frozen=True)
class Operation:
    """One action: how its parameters are read and how its answer is written."""

    service: str
    name: str
    version: str  # of the service's API
    input_shape: str | None
    reader: Reader | JsonReader
    takes_client_token: bool
    frame: tuple[str, str]  # what comes before and after the answer's members, with _ID in one of them
    output_shape: str | None
    serialiser: Serialiser | JsonSerialiser
    content_type: str

    def parse(self, given: dict[str, Any]) -> dict[str, Any]:
        """What is ``given``, by botocore's names."""
        return self.reader.parameters(self.input_shape, given)

    def write(self, answer: dict[str, Any]) -> str:
        """The members of an answer as XML."""
        return self.serialiser.text(self.output_shape, answer) if self.output_shape else ""

    def serialise(self, answer: dict[str, Any], request_id: str) -> str:
        """The whole XML document of an answer."""
        return self.framed(self.write(answer), request_id)

    def framed(self, members: str, request_id: str) -> str:
        """The document around an answer's members, which were written before."""
        head, tail = self.frame
        return f"{head.replace(_ID, request_id)}{members}{tail.replace(_ID, request_id)}"


@cache
def _reader(service: str) -> Reader | JsonReader:
    if is_json(service):
        return JsonReader(services()[service]["shapes"])
    return Reader(services()[service]["shapes"], services()[service]["metadata"]["protocol"] == "ec2")


@cache
def _serialiser(service: str) -> Serialiser | JsonSerialiser:
    shapes = services()[service]["shapes"]
    return JsonSerialiser(shapes) if is_json(service) else Serialiser(shapes)


def is_json(service: str) -> bool:
    """True when the service's clients speak JSON."""
    return bool(services()[service]["metadata"]["protocol"] == "json")


@cache
def operation(service: str, name: str) -> Operation | None:
    """The compiled action, or None when the model doesn't have it."""
    model = services().get(service)
    if model is None or name not in model["operations"]:
        return None
    parts = model["operations"][name]
    given = parts.get("input", {}).get("shape")
    return Operation(
        service=service,
        name=name,
        version=model["metadata"]["apiVersion"],
        input_shape=given,
        reader=_reader(service),
        takes_client_token=given is not None and "ClientToken" in model["shapes"][given]["members"],
        frame=_frame(name, model["metadata"]),
        output_shape=parts.get("output", {}).get("shape"),
        serialiser=_serialiser(service),
        content_type="application/x-amz-json-1.1" if is_json(service) else "text/xml;charset=UTF-8",
    )


def _frame(name: str, metadata: dict[str, Any]) -> tuple[str, str]:
    if metadata["protocol"] == "json":
        return "", ""
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<{name}Response xmlns="{metadata["xmlNamespace"]}">'
    if metadata["protocol"] == "ec2":
        return head + f"<requestId>{_ID}</requestId>", f"</{name}Response>"
    return (
        f"{head}<{name}Result>",
        f"</{name}Result><ResponseMetadata><RequestId>{_ID}</RequestId></ResponseMetadata></{name}Response>",
    )
