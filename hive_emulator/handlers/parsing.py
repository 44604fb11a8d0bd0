"""From bytes to an action and its parameters."""

from __future__ import annotations

from hive_emulator.action import registry
from hive_emulator.errors import ApiError
from hive_emulator.handlers.exchange import Exchange
from hive_emulator.protocol import parse
from hive_emulator.protocol.model import operation

_FORM = "application/x-www-form-urlencoded"


def parse_request(x: Exchange) -> None:
    """Read ``Action``, ``Version`` and the parameters from body and query string."""
    if x.request.method not in ("GET", "POST"):
        raise ApiError("InvalidAction", f"The method {x.request.method} is not supported: use GET or POST.", 405)
    flat = _fields(x)
    x.action = flat.pop("Action", "")[:200]
    version = flat.pop("Version", None)
    if not x.action:
        raise ApiError("MissingAction", "The request must contain the parameter Action")
    x.operation = operation(x.service, x.action) if (x.service, x.action) in registry() else None
    if x.operation is None:
        raise ApiError("InvalidAction", f"The action {x.action} is not valid for this web service.")
    if version is not None and version != x.operation.version:
        expected = f"use Version={x.operation.version}"
        raise ApiError("NoSuchVersion", f"The requested version ({version[:40]}) does not exist: {expected}.")
    x.params = x.operation.parse(parse.tree(flat))


def _fields(x: Exchange) -> dict[str, str]:
    flat = parse.fields(x.request.body)
    if x.request.query:
        query = parse.fields(x.request.query)
        for name, value in query.items():
            if name in flat:
                raise ApiError("MalformedQueryString", f"The parameter {name} is in the body and in the query")
            if not name.startswith("X-Amz-"):
                flat[name] = value
    return flat
