"""The answer's bytes, for success and for errors."""

from __future__ import annotations

import logging

from hive_emulator.errors import ApiError
from hive_emulator.handlers import elsewhere
from hive_emulator.handlers.exchange import Exchange, Response
from hive_emulator.protocol.model import is_json, services
from hive_emulator.protocol.serialise import error_document
from hive_emulator.store.base import StoreFailed

log = logging.getLogger("hive_emulator")


def serialise(x: Exchange) -> Response:
    """The document of a success."""
    assert x.operation is not None  # noqa: S101 - for the type checker: parsing has set it
    return Response(200, x.operation.framed(x.answer, x.id).encode(), x.operation.content_type)


def refuse(x: Exchange, error: ApiError) -> Response:
    """An error as the service's clients read it."""
    if x.elsewhere or is_json(x.service):
        return elsewhere.refusal(x.request, x.elsewhere or x.service, error, x.id)
    protocol = services()[x.service]["metadata"]["protocol"]
    return Response(error.status, error_document(protocol, error.code, error.message, x.id).encode())


def our_fault(x: Exchange, error: Exception) -> ApiError:
    """A full disk, or a bug: the client gets AWS's words, the log the traceback."""
    if isinstance(error, StoreFailed):
        log.error("request %s: %s", x.id, error)
        return ApiError("Unavailable", f"The store can't write: {error}", 503)
    log.error("request %s (%s) failed", x.id, x.action, exc_info=error)
    return ApiError("InternalError", f"An internal error has occurred. Request id {x.id}", 500)
