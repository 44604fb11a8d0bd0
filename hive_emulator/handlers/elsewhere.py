"""Errors for services that aren't here, in the shape that their own clients read.

Which protocol a client speaks is seen in its request: the models of all services need not be known for that.
"""

from __future__ import annotations

import json

from hive_emulator.errors import ApiError
from hive_emulator.handlers.exchange import Request, Response
from hive_emulator.protocol.serialise import error_document, escape

_REST_XML = ("s3", "s3express", "s3-object-lambda")


def not_here(service: str, known: tuple[str, ...]) -> ApiError:
    """The error for a service that isn't here."""
    return ApiError("UnknownOperationException", f"Hive has no service '{service[:60]}': it has {', '.join(known)}.")


def refusal(request: Request, service: str, error: ApiError, request_id: str) -> Response:
    """An error as the clients of another service read it."""
    kind = request.headers.get("content-type", "")
    if service in _REST_XML:
        inner = f"<Code>{error.code}</Code><Message>{escape(error.message)}</Message>"
        text = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error>{inner}<RequestId>{request_id}</RequestId></Error>'
        return Response(error.status, text.encode(), "application/xml")
    if request.headers.get("smithy-protocol") == "rpc-v2-cbor":
        return Response(error.status, _cbor({"__type": error.code, "message": error.message}), "application/cbor")
    if kind.startswith("application/x-www-form-urlencoded") or service in ("route53", "cloudfront"):
        return Response(error.status, error_document("query", error.code, error.message, request_id).encode())
    # Targets are JSON-RPC's; everything else is REST with JSON, whose older clients look for "code".
    body = {"__type": error.code, "code": error.code, "message": error.message}
    rpc = "x-amz-target" in request.headers and kind.isascii() and kind.isprintable()
    return Response(error.status, json.dumps(body).encode(), kind if rpc and kind else "application/json")


def _cbor(texts: dict[str, str]) -> bytes:
    """A map of at most 23 texts, in CBOR (RFC 8949): a byte for the map, a head for each text."""
    parts = [bytes([0xA0 | len(texts)])]
    for text in (each for pair in texts.items() for each in pair):
        raw = text.encode()
        parts += [b"\x79", len(raw).to_bytes(2, "big"), raw]
    return b"".join(parts)
