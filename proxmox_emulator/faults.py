"""Faults to order: what goes wrong on a real cluster, made to happen.

A list, from a file or by an admin call. Each fault names its kind and what it is for; `times` and `chance` limit it.
"""

from __future__ import annotations

import asyncio
import fnmatch
import random
from dataclasses import asdict, dataclass, fields
from typing import Any

import jsonschema
import orjson

from proxmox_emulator.errors import ApiError
from proxmox_emulator.guests.locks import cannot_lock
from proxmox_emulator.tasks import TaskError

KINDS = {
    "error": "a call answers `status` (500) and `message`",
    "slow": "a call answers `latency_ms` later",
    "hang": "a call never answers",
    "lock": "a call that changes a guest can't lock its configuration",
    "agent": "the guest agent never answers",
    "storage-full": "a storage has no space left",
    "task-fails": "a task ends with `message`",
    "task-hangs": "a task doesn't end, or only after `latency_ms`",
    "node-gone": "a node can't be reached",
}
_TEXT = {"type": "string", "maxLength": 1000}
SCHEMA: dict[str, Any] = {
    "type": "array",
    "maxItems": 1000,
    "items": {
        "type": "object",
        "required": ["kind"],
        "additionalProperties": False,
        "properties": {
            "kind": {"enum": list(KINDS)},
            "call": _TEXT,
            "node": _TEXT,
            "vmid": {"type": "integer"},
            "storage": _TEXT,
            "task": _TEXT,
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "message": _TEXT,
            "latency_ms": {"type": "integer", "minimum": 0},
            "times": {"type": "integer", "minimum": 1},
            "chance": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        },
    },
}


class FaultsError(ValueError):
    """Not a list of faults; the text names the place."""


@dataclass
class Fault:
    """One thing that goes wrong. A member that is None fits everything."""

    kind: str
    call: str | None = None
    node: str | None = None
    vmid: int | None = None
    storage: str | None = None
    task: str | None = None
    status: int = 500
    message: str | None = None
    latency_ms: int | None = None
    times: int | None = None
    chance: float | None = None

    def fits(self, **what: Any) -> bool:
        """Whether it is about this; uses it up if it is."""
        for name, value in what.items():
            wanted = getattr(self, name)
            if wanted is not None and not fnmatch.fnmatchcase(str(value), str(wanted)):
                return False
        if self.times == 0 or (self.chance is not None and random.random() >= self.chance):  # noqa: S311
            return False
        if self.times is not None:
            self.times -= 1
        return True

    def described(self) -> dict[str, Any]:
        """As it was given, with the times that are left."""
        defaults = {each.name: each.default for each in fields(self)}
        return {name: value for name, value in asdict(self).items() if value != defaults[name]}


def read(text: bytes) -> list[Fault]:
    """Faults from JSON; says what is wrong and where."""
    try:
        given = orjson.loads(text)
        jsonschema.validate(given, SCHEMA)
    except orjson.JSONDecodeError as error:
        raise FaultsError(f"not JSON: {error}") from None
    except jsonschema.ValidationError as error:
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
        raise FaultsError(f"faults{place}: {error.message}") from None
    return [Fault(**each) for each in given]


class Faults:
    """The faults in force."""

    def __init__(self) -> None:
        self.listed: list[Fault] = []

    async def before_call(self, line: str, method: str, params: dict[str, Any], kind: str) -> None:
        """Answer late, wrong, or not at all. `line` is `METHOD /path`."""
        about: dict[str, Any] = {name: params[name] for name in ("node", "vmid", "storage") if name in params}
        for fault in self.listed:
            if fault.kind not in ("error", "slow", "hang", "lock") or not self._is_about(fault, about):
                continue
            if fault.kind == "lock" and ("vmid" not in params or method == "GET"):
                continue
            if not fault.fits(call=line):
                continue
            if fault.kind == "lock":
                raise ApiError(cannot_lock(kind, params["vmid"]))
            if fault.kind == "error":
                raise ApiError(fault.message or "error on purpose", fault.status)
            await asyncio.sleep(fault.latency_ms / 1000 if fault.latency_ms and fault.kind == "slow" else 10**6)

    async def before_task(self, task: dict[str, Any]) -> None:
        """Let a task hang or fail."""
        about = {"node": task["node"], "task": task["type"], "vmid": task["id"]}
        for fault in self.listed:
            if fault.kind == "task-hangs" and fault.fits(**about):
                await asyncio.sleep(fault.latency_ms / 1000 if fault.latency_ms else 10**6)
            elif fault.kind == "task-fails" and fault.fits(**about):
                raise TaskError(fault.message or "command failed on purpose")

    def node_is_gone(self, node: str) -> bool:
        """Whether a node can't be reached."""
        return any(fault.kind == "node-gone" and fault.fits(node=node) for fault in self.listed)

    def agent_is_silent(self, guest: dict[str, Any]) -> bool:
        """Whether the agent of a guest doesn't answer."""
        about = {"vmid": guest["vmid"], "node": guest["node"]}
        return any(fault.kind == "agent" and fault.fits(**about) for fault in self.listed)

    def storage_is_full(self, storage: str, node: str) -> bool:
        """Whether a storage has no space left."""
        about = {"storage": storage, "node": node}
        return any(fault.kind == "storage-full" and fault.fits(**about) for fault in self.listed)

    @staticmethod
    def _is_about(fault: Fault, about: dict[str, Any]) -> bool:
        named = {name: getattr(fault, name) for name in ("node", "vmid", "storage")}
        return all(
            wanted is None or fnmatch.fnmatchcase(str(about.get(name)), str(wanted)) for name, wanted in named.items()
        )
