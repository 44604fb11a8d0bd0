"""One request and its answer, as the handlers pass them along."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from hive_emulator.errors import ApiError

if TYPE_CHECKING:
    from hive_emulator.action import Behaviour
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


# A request's id is unique, and no secret: a random start, and then they are counted.
_START = str(uuid.uuid4())[:24]
_numbers = count(random.getrandbits(32))


class Exchange:
    """A request with everything that the handlers find out about it."""

    service = "ec2"  # from the credential scope
    elsewhere = ""  # the service of the credential scope, if it isn't here
    region = ""
    account = ""
    access_key = ""
    action = ""
    behaviour: Behaviour | None = None
    operation: Operation | None = None
    params: dict[str, Any]
    answer = ""  # the XML of the answer's members
    fault: Fault | None = None  # asked for on purpose
    error: ApiError | None = None
    aside = False  # not AWS's: health, metrics, admin

    def __init__(self, request: Request, emulator: Emulator) -> None:
        self.request = request
        self.emulator = emulator
        self.id = f"{_START}{next(_numbers):012x}"
        self.started = time.perf_counter()
