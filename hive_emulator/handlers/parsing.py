"""From bytes to an action and its parameters."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import registry
from hive_emulator.errors import ApiError
from hive_emulator.handlers.exchange import Exchange
from hive_emulator.protocol import parse
from hive_emulator.protocol.json_rpc import document
from hive_emulator.protocol.model import is_json, operation


def parse_request(x: Exchange) -> None:
    """Read ``Action``, ``Version`` and the parameters from body and query string."""
    if x.request.method not in ("GET", "POST"):
        raise ApiError("InvalidAction", f"The method {x.request.method} is not supported: use GET or POST.", 405)
    given: dict[str, Any]
    version = ""
    if is_json(x.service):
        x.action, given = x.request.headers.get("x-amz-target", "").rpartition(".")[2][:200], document(x.request.body)
    else:
        given = parse.fields(x.request.body)
        if x.request.query:
            parse.fields(x.request.query, given)
        x.action, version = given.pop("Action", "")[:200], given.pop("Version", "")
    if not x.action:
        raise ApiError("MissingAction", "The request must contain the parameter Action")
    x.behaviour = registry().get((x.service, x.action))
    x.operation = operation(x.service, x.action) if x.behaviour else None
    if x.operation is None:
        raise ApiError("InvalidAction", f"The action {x.action} is not valid for this web service.")
    if version and version != x.operation.version:
        expected = f"use Version={x.operation.version}"
        raise ApiError("NoSuchVersion", f"The requested version ({version[:40]}) does not exist: {expected}.")
    if x.request.query:
        for name in [name for name in given if name.startswith("X-Amz-")]:  # of a presigned request
            del given[name]
    x.params = x.operation.parse(given)
