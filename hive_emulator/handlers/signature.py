"""AWS Signature Version 4, checked: in headers and in presigned query strings.

1. Take the credential, the signed headers and the signature from the ``Authorization`` header or the query.
2. Check the date: at most five minutes from ours, or not yet past ``X-Amz-Expires``.
3. Rebuild the canonical request, sign it with the key derived from the secret, compare in constant time.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from datetime import datetime, timezone
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote_to_bytes

from hive_emulator.errors import ApiError
from hive_emulator.handlers.exchange import Request

if TYPE_CHECKING:
    from hashlib import _Hash

ALGORITHM = "AWS4-HMAC-SHA256"
SKEW = 5 * 60  # seconds
LONGEST = 7 * 24 * 3600  # seconds a presigned request may be good for
MOST_HEADERS = 100  # that may be signed
MOST_PAIRS = 1000  # in a query string
_REGION = re.compile(r"[a-z0-9-]{1,32}\Z")
# As every SDK writes it, up to the signature; what else comes is taken apart piece by piece, to say what is missing.
_PLAIN = re.compile(rf"{ALGORITHM} Credential=([^,= ]+), ?SignedHeaders=([a-z0-9;-]+), ?Signature=\Z")
_SIGNATURE = 64  # characters
_DATE = re.compile(r"[0-9]{8}T[0-9]{6}Z\Z")
_EMPTY_BODY = sha256(b"").hexdigest()


class Scope(NamedTuple):
    """What a client says in every request of a day."""

    access_key: str
    text: str  # date/region/service/aws4_request
    date: str  # 20260102
    region: str
    service: str
    headers: tuple[str, ...]  # that are signed


class Signed(NamedTuple):
    """What a request says about its signature."""

    scope: Scope
    signature: str
    timestamp: str  # 20260102T030405Z
    moment: float  # the same, as time.time() has it
    expires: int | None  # seconds, of a presigned request


def incomplete(message: str) -> ApiError:
    """The error for a signature that can't even be read."""
    return ApiError("IncompleteSignature", message)


def read(request: Request) -> Signed:
    """The signature of a request; refuses one without, or with half of one."""
    if request.query.count(b"&") >= MOST_PAIRS:
        raise incomplete(f"A query string has at most {MOST_PAIRS:,} parameters: send them in the body of a POST.")
    header = request.headers.get("authorization")
    if header is not None:
        return _from_header(request, header)
    if b"X-Amz-" in request.query:
        return _from_query(_pairs(request.query))
    raise ApiError("MissingAuthenticationToken", "Request is missing Authentication Token", 403)


def _from_header(request: Request, header: str) -> Signed:
    scope = _plain_scope(header[:-_SIGNATURE])
    if scope is not None:
        return _signed(scope, header[-_SIGNATURE:], _timestamp(request), None)
    algorithm, _, rest = header.partition(" ")
    if algorithm != ALGORITHM:
        raise incomplete(f"Unsupported authorization type: expected '{ALGORITHM}'.")
    parts: dict[str, str] = {}
    for part in rest.split(","):
        name, equals, value = part.strip().partition("=")
        if equals:
            parts[name] = value
    for name in ("Credential", "SignedHeaders", "Signature"):
        if not parts.get(name):
            raise incomplete(f"Authorization header requires '{name}' parameter.")
    scope = _scope(parts["Credential"], parts["SignedHeaders"])
    return _signed(scope, parts["Signature"], _timestamp(request), None)


@lru_cache(maxsize=256)  # a client's is the same all day
def _plain_scope(header: str) -> Scope | None:
    plain = _PLAIN.match(header)
    return None if plain is None else _scope(plain[1], plain[2])


def _timestamp(request: Request) -> str:
    timestamp = request.headers.get("x-amz-date")
    if not timestamp:
        raise incomplete("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.")
    return timestamp


def _from_query(pairs: list[tuple[str, str]]) -> Signed:
    values = dict(pairs)
    if values.get("X-Amz-Algorithm") != ALGORITHM:
        raise incomplete(f"AWS query-string parameters must include 'X-Amz-Algorithm={ALGORITHM}'.")
    for name in ("X-Amz-Credential", "X-Amz-Date", "X-Amz-SignedHeaders", "X-Amz-Signature"):
        if not values.get(name):
            raise incomplete(f"AWS query-string parameters must include '{name}'.")
    expires = values.get("X-Amz-Expires", "300")
    if not (expires.isascii() and expires.isdigit() and len(expires) < 8 and 0 < int(expires) <= LONGEST):
        raise incomplete(f"X-Amz-Expires must be a number of seconds from 1 to {LONGEST}.")
    scope = _scope(values["X-Amz-Credential"], values["X-Amz-SignedHeaders"])
    return _signed(scope, values["X-Amz-Signature"], values["X-Amz-Date"], int(expires))


def _signed(scope: Scope, signature: str, timestamp: str, expires: int | None) -> Signed:
    moment = _moment(timestamp)
    if timestamp[:8] != scope.date:
        raise ApiError("SignatureDoesNotMatch", "Date in Credential scope does not match the request's date.", 403)
    return Signed(scope, signature, timestamp, moment, expires)


def _scope(credential: str, headers: str) -> Scope:
    parts = credential.split("/")
    if len(parts) != 5 or not all(parts) or parts[4] != "aws4_request":
        raise incomplete("Credential must have exactly 5 slash-delimited elements, ending in aws4_request.")
    access_key, date, region, service, _ = parts
    if not _REGION.match(region):
        raise ApiError("SignatureDoesNotMatch", "Credential should be scoped to a valid region.", 403)
    names = tuple(headers.split(";"))
    if len(names) > MOST_HEADERS or len(set(names)) < len(names):  # one named often would be signed as often
        raise incomplete(f"SignedHeaders must name each header once, and at most {MOST_HEADERS}.")
    if "host" not in names:
        raise ApiError("SignatureDoesNotMatch", "'Host' must be a 'SignedHeader' in the AWS Authorization.", 403)
    return Scope(access_key, credential[len(access_key) + 1 :], date, region, service, names)


def check_date(signed: Signed, now: float) -> None:
    """Refuse a request from too long ago, or from the future."""
    until = signed.moment + (SKEW if signed.expires is None else signed.expires)
    if signed.moment - SKEW <= now <= until:
        return
    ours = datetime.fromtimestamp(now, timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    if signed.scope.service == "ec2":
        raise ApiError("RequestExpired", f"Request has expired: it is of {signed.timestamp}, now is {ours}.")
    word = "expired" if now > until else "not yet current"
    raise ApiError("SignatureDoesNotMatch", f"Signature {word}: {signed.timestamp}, now is {ours}.", 403)


@lru_cache(maxsize=256)  # many requests of one second
def _moment(text: str) -> float:
    try:
        if not _DATE.match(text):  # strptime takes more than this
            raise ValueError
        return datetime.strptime(text, "%Y%m%dT%H%M%S%z").timestamp()
    except ValueError:
        raise incomplete(
            f"Date must be in ISO-8601 'basic format', like 20260102T030405Z. Got '{text[:40]}'."
        ) from None


def matches(request: Request, signed: Signed, secret: str) -> bool:
    """True when the signature is the one that ``secret`` gives."""
    scope = signed.scope
    digest = sha256(canonical(request, scope.headers).encode()).hexdigest()
    text = f"{ALGORITHM}\n{signed.timestamp}\n{scope.text}\n{digest}"
    started = _started(secret, scope.date, scope.region, scope.service)
    inner, outer = started[0].copy(), started[1].copy()
    inner.update(text.encode())
    outer.update(inner.digest())
    return hmac.compare_digest(outer.hexdigest().encode(), signed.signature.encode("utf-8", "replace"))


@lru_cache(maxsize=256)
def _started(secret: str, date: str, region: str, service: str) -> tuple[_Hash, _Hash]:
    """HMAC's two hashes with the day's key, which takes four rounds of HMAC, already in them: so it is kept.

    A copy of hmac's own object would do, but takes so much longer that CreateTags as a whole is 3 % slower with it.
    """
    key = f"AWS4{secret}".encode()
    for part in (date, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    block = key.ljust(64, b"\0")
    return sha256(block.translate(hmac.trans_36)), sha256(block.translate(hmac.trans_5C))


def canonical(request: Request, names: tuple[str, ...]) -> str:
    """The canonical request, with these headers signed."""
    query = _canonical_query(request.query) if request.query else ""
    headers = ""
    for name in names:
        value = request.headers.get(name, "")
        headers += f"{name}:{' '.join(value.split()) if ' ' in value else value}\n"
    body = sha256(request.body).hexdigest() if request.body else _EMPTY_BODY
    path = "/" if request.path == "/" else quote(request.path, safe="/-_.~")
    return f"{request.method}\n{path}\n{query}\n{headers}\n{';'.join(names)}\n{body}"


def _canonical_query(raw: bytes) -> str:
    encode: Callable[[str], str] = lambda text: quote(text, safe="-_.~")  # noqa: E731
    pairs = sorted((encode(k), encode(v)) for k, v in _pairs(raw) if k != "X-Amz-Signature")
    return "&".join(f"{name}={value}" for name, value in pairs)


def _pairs(raw: bytes) -> list[tuple[str, str]]:
    found = []
    for pair in raw.split(b"&"):
        if pair:
            name, _, value = pair.partition(b"=")
            found.append((_text(name), _text(value)))
    return found


def _text(raw: bytes) -> str:
    # Whatever can't be decoded is refused by the parser; here it only must not match by accident.
    return unquote_to_bytes(raw).decode("utf-8", "backslashreplace")
