"""What an action is: a function from a call and parsed parameters to an answer.

A behaviour takes botocore's input members (python types; absent and empty members are left out) and returns
botocore's output members. It must be a pure function of ``call`` and ``params`` (random ids aside): when
another writer was faster, the whole behaviour is run again on the new state. Side effects go through
:meth:`Call.then`.

    @action("CreateVpc")
    def create_vpc(call, params):
        ...
        call.cloud.put("vpc", vpc_id, record)
        return {"Vpc": record}

Stored records may be returned as they are: only members of the model's shape are written, and the XML of an
unchanged stored record is cached. So where a record needs no change, return the record itself, not a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hive_emulator.cloud import Cloud
from hive_emulator.config import CloudConfig

if TYPE_CHECKING:
    from hive_emulator.emulator import Emulator


@dataclass
class Call:
    """One request, as an action sees it."""

    action: str
    account: str  # 12 digits
    region: str
    request_id: str
    now: datetime  # aware, UTC
    cloud: Cloud  # this account's and region's records
    config: CloudConfig
    emulator: Emulator | None = None  # for what runs afterwards, in units of work of its own
    afterwards: list[Callable[[], Coroutine[Any, Any, None]]] = field(default_factory=list)

    def then(self, job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run ``job`` in the background once this call's writes are committed, and only then."""
        self.afterwards.append(job)

    def timestamp(self) -> str:
        """``now`` as records keep it, e.g. ``2026-01-02T03:04:05.000Z``."""
        return self.now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.now.microsecond // 1000:03d}Z"


Behaviour = Callable[[Call, dict[str, Any]], dict[str, Any]]

_registry: dict[tuple[str, str], Behaviour] = {}
_all = MappingProxyType(_registry)


def action(name: str, *, service: str = "ec2") -> Callable[[Behaviour], Behaviour]:
    """Register the decorated function as the behaviour of ``name``."""

    def register(behaviour: Behaviour) -> Behaviour:
        known = _registry.get((service, name))
        if known is not None and known is not behaviour:
            raise ValueError(f"{service}:{name} is registered twice: {known.__module__}, {behaviour.__module__}")
        _registry[service, name] = behaviour
        return behaviour

    return register


def registry() -> Mapping[tuple[str, str], Behaviour]:
    """All behaviours by (service, action)."""
    return _all
