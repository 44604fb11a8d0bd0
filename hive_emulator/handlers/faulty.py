"""The faults that were asked for, before and after the action."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from hive_emulator.faults import Fault
from hive_emulator.handlers.exchange import Exchange, Response


def fault_before(x: Exchange) -> Awaitable[Response | None] | None:
    """Pick the request's fault, wait, and fail if it is to fail before the action."""
    x.fault = x.emulator.faults.pick(x.action)
    return None if x.fault is None else _before(x, x.fault)


async def _before(x: Exchange, fault: Fault) -> Response | None:
    if fault.latency_ms:
        await asyncio.sleep(fault.latency_ms / 1000)
    return None if fault.after else await _strike(x, fault)


def fault_after(x: Exchange) -> Awaitable[Response | None] | None:
    """Fail although the action has done its work: what a client must survive with a token or a look."""
    return _strike(x, x.fault) if x.fault is not None and x.fault.after else None


async def _strike(x: Exchange, fault: Fault) -> Response | None:
    if fault.hang:
        while not x.request.is_gone():
            await asyncio.sleep(0.05)
        return Response(200, b"", drop=True)
    if fault.drop:
        return Response(200, b"", drop=True)
    error = fault.problem()
    if error is not None:
        raise error
    return None
