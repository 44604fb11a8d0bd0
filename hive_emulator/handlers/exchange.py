"""One request and its answer, as the handlers pass them along."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hive_emulator.errors import ApiError

if TYPE_CHECKING:
    from hive_emulator.emulator import Emulator
    from hive_emulator.faults import Fault
    from hive_emulator.protocol.model import Operation


@dataclass
class Request:
    """What came over the wire, complete."""

    method: str
    path: str  # still encoded
    query: bytes  # still encoded
    headers: dict[str, str]  # names in lower case; repeated ones joined with commas
    body: bytes
    peer: str  # the client's address
    is_gone: Callable[[], bool] = lambda: False  # true when the client has closed the connection


@dataclass
class Response:
    """What goes back. ``drop`` closes the connection without an answer."""

    status: int
    body: bytes
    content_type: str = "text/xml;charset=UTF-8"
    drop: bool = False


def _request_id() -> str:
    """A UUID of the fourth kind, at a third of the cost of ``uuid.uuid4``."""
    text = f"{random.getrandbits(128):032x}"
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


@dataclass
class Exchange:
    """A request with everything that the handlers find out about it."""

    request: Request
    emulator: Emulator = field(repr=False)
    id: str = field(default_factory=_request_id)
    started: float = field(default_factory=time.perf_counter)
    service: str = "ec2"  # from the credential scope
    region: str = ""
    account: str = ""
    access_key: str = ""
    action: str = ""
    operation: Operation | None = None
    params: dict[str, Any] = field(default_factory=dict)
    answer: str = ""  # the XML of the answer's members
    fault: Fault | None = None  # asked for on purpose
    error: ApiError | None = None
    aside: bool = False  # not AWS's: health, metrics, admin
