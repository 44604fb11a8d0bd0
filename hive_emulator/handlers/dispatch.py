"""Run the action: dry, or once per client token, or plainly."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from hive_emulator.action import Call
from hive_emulator.errors import ApiError
from hive_emulator.handlers.exchange import Exchange

TOKEN_LIFE = timedelta(hours=24)


def dispatch(x: Exchange) -> Awaitable[None]:
    """Run the behaviour as one unit of work; ``x.answer`` is the XML of its answer's members."""
    if x.service == "ec2" and not x.emulator.is_seeded(x.account, x.region):
        return _seed_and_run(x)
    return _run(x)


async def _seed_and_run(x: Exchange) -> None:
    await x.emulator.seed(x.account, x.region)
    await _run(x)


def _run(x: Exchange) -> Awaitable[None]:
    assert x.operation is not None  # noqa: S101 - for the type checker: parsing has set it
    dry = x.params.pop("DryRun", False)
    work = partial(_once_per_token if x.operation.takes_client_token and x.params.get("ClientToken") else _plainly, x)
    # Only for a Describe: what changes something and did not see all of it would make things twice.
    stale = x.fault.stale_ms / 1000 if x.fault and x.action.startswith("Describe") else 0.0
    return x.emulator.run(x.account, x.region, partial(_only_dry, work) if dry else work, x.action, x.id, stale)


def _plainly(x: Exchange, call: Call) -> None:
    assert x.operation is not None and x.behaviour is not None  # noqa: S101 - as above
    x.answer = x.operation.write(x.behaviour(call, x.params))


def _only_dry(work: Callable[[Call], None], call: Call) -> None:
    work(call)
    raise ApiError("DryRunOperation", "Request would have succeeded, but DryRun flag is set.", 412)


def _once_per_token(x: Exchange, call: Call) -> None:
    """The first answer again for the same token and parameters; an error for other parameters."""
    token = x.params["ClientToken"]
    id = hashlib.sha256(f"{x.action}\n{token}".encode()).hexdigest()[:40]
    digest = _digest(x.params)
    known = call.cloud.get("client-token", id)
    if known is not None and not _is_old(known, call):
        if known["digest"] != digest:
            raise ApiError(
                "IdempotentParameterMismatch",
                "The client token has been used before with other parameters.",
            )
        x.answer = zlib.decompress(base64.b64decode(known["answer"])).decode()
        return
    _plainly(x, call)
    kept = base64.b64encode(zlib.compress(x.answer.encode(), 1)).decode()
    call.cloud.put("client-token", id, {"digest": digest, "answer": kept, "at": call.timestamp()})
    _forget_old(call)


def _digest(params: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(params, sort_keys=True, default=str).encode()).hexdigest()


def _is_old(record: dict[str, Any], call: Call) -> bool:
    return datetime.fromisoformat(record["at"][:-1] + "+00:00") < call.now - TOKEN_LIFE


def _forget_old(call: Call) -> None:
    for id, record in call.cloud.oldest("client-token", 2):
        if _is_old(record, call):
            call.cloud.delete("client-token", id)
