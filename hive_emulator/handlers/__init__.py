"""The way of every request, in order. A handler that returns a response ends it; an error ends it too.

A handler that has to wait, and only that, returns something to wait for: most requests wait for their commit alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hive_emulator.errors import ApiError
from hive_emulator.handlers.access_log import account_for
from hive_emulator.handlers.admin import aside
from hive_emulator.handlers.answer import our_fault, refuse, serialise
from hive_emulator.handlers.auth import authenticate
from hive_emulator.handlers.dispatch import dispatch
from hive_emulator.handlers.exchange import Exchange, Response
from hive_emulator.handlers.faulty import fault_after, fault_before
from hive_emulator.handlers.parsing import parse_request

Handler = Callable[[Exchange], "Awaitable[Response | None] | Response | None"]

WAY: tuple[Handler, ...] = (
    aside,  # /health, /metrics and the admin calls are answered here
    authenticate,  # SigV4: who asks, which service, region and account
    parse_request,  # Action, Version and parameters by the model
    fault_before,  # faults on purpose: latency, throttling, errors, hangs, dropped connections
    dispatch,  # dry run, client token, the action itself, commit
    fault_after,  # those that strike when the work is done
    serialise,  # XML
)


async def handle(x: Exchange) -> Response:
    """Take one request along the way; every one is counted and logged at the end."""
    response = None
    try:
        for handler in WAY:
            found = handler(x)
            if found is not None:
                response = found if isinstance(found, Response) else await found
                if response is not None:
                    break
        else:
            raise RuntimeError("no handler answered")
    except ApiError as error:
        x.error = error
    except Exception as error:
        x.error = our_fault(x, error)
    if x.error is not None:
        response = refuse(x, x.error)
    assert response is not None  # noqa: S101 - for the type checker: without an error there is one
    account_for(x, response)
    return response
