"""Who is asking: the signature, the account behind the key, and patience with those who guess."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable

from hive_emulator.errors import ApiError
from hive_emulator.handlers import elsewhere, signature
from hive_emulator.handlers.exchange import Exchange, Request

SERVICES = ("ec2", "sts", "iam", "ssm")


class Patience:
    """Slows down repeated failures of one address and key: free at first, then twice as long each time."""

    free = 5
    longest = 2.0
    forget_after = 300.0
    most = 10_000

    def __init__(self) -> None:
        self._failures: OrderedDict[tuple[str, str], tuple[int, float]] = OrderedDict()

    def failed(self, address: str, access_key: str) -> float:
        """Count a failure; returns the seconds to wait before answering it."""
        now = time.monotonic()
        count, last = self._failures.pop((address, access_key), (0, now))
        count = 1 if now - last > self.forget_after else count + 1
        self._failures[address, access_key] = (count, now)
        if len(self._failures) > self.most:
            self._failures.popitem(last=False)
        return min(self.longest, 0.05 * 2 ** min(count - self.free, 10)) if count > self.free else 0.0

    def succeeded(self, address: str, access_key: str) -> None:
        """Forget the failures of this address and key."""
        if self._failures:
            self._failures.pop((address, access_key), None)


def authenticate(x: Exchange) -> Awaitable[None] | None:
    """Check the signature; find service, region and account."""
    try:
        signed = signature.read(x.request)
        scope = signed.scope
        if scope.service in SERVICES:
            x.service = scope.service
        else:
            x.elsewhere = scope.service
        x.access_key = scope.access_key[:128]
        _check(x, signed)
    except ApiError as error:
        # Without a key nothing can be guessed.
        delay = x.emulator.patience.failed(x.request.peer, x.access_key) if x.access_key else 0.0
        if delay:
            return _refuse_later(error, delay)
        raise
    x.emulator.patience.succeeded(x.request.peer, x.access_key)
    return None


async def _refuse_later(error: ApiError, delay: float) -> None:
    await asyncio.sleep(delay)
    raise error


def _check(x: Exchange, signed: signature.Signed) -> None:
    key = x.emulator.keys.get(signed.scope.access_key)
    if key is None or _has_token(x.request):  # nobody here gives out session tokens
        raise _unknown(x)
    if x.elsewhere:
        raise elsewhere.not_here(x.elsewhere, SERVICES)
    signature.check_date(signed, time.time())
    if not signature.matches(x.request, signed, key.secret):
        raise ApiError(
            "SignatureDoesNotMatch",
            "The request signature we calculated does not match the signature you provided. "
            "Check your AWS Secret Access Key and signing method.",
            403,
        )
    x.account = key.account
    x.region = signed.scope.region


def _has_token(request: Request) -> bool:
    return bool(request.headers.get("x-amz-security-token")) or b"X-Amz-Security-Token=" in request.query


def _unknown(x: Exchange) -> ApiError:
    """A key that nobody has, in the words of the service that was asked."""
    if x.service == "ec2" and not x.elsewhere:
        return ApiError("AuthFailure", "AWS was not able to validate the provided access credentials", 401)
    code = "UnrecognizedClientException" if x.service == "ssm" else "InvalidClientTokenId"
    return ApiError(code, "The security token included in the request is invalid.", 403)
