"""The guest agent: addresses, ping and commands in a guest that runs and has one."""

from __future__ import annotations

import itertools
from typing import Any

from proxmox_emulator.errors import ApiError, parameter_error
from proxmox_emulator.guests import power
from proxmox_emulator.records import Body
from proxmox_emulator.request import Request

_pids = itertools.count(1000)
_ended: dict[tuple[int, int], dict[str, Any]] = {}
SILENT = "QEMU guest agent is not running"


async def _interfaces(request: Request, guest: Body) -> list[dict[str, Any]]:
    found = None if request.cluster.faults.agent_is_silent(guest) else await request.cluster.runtime.interfaces(guest)
    if found is None:
        raise ApiError(SILENT)
    return found


async def _answering(request: Request) -> Body:
    guest = request.cluster.guest("qemu", request.node, request.vmid)
    if not power.is_running(guest):
        raise ApiError(f"VM {request.vmid} is not running")
    if not str(guest["config"].get("agent", "0")).startswith(("1", "enabled=1")):
        raise ApiError("No QEMU guest agent configured")
    await _interfaces(request, guest)
    return guest


async def network_interfaces(request: Request) -> dict[str, Any]:
    """The interfaces and their addresses."""
    return {"result": await _interfaces(request, await _answering(request))}


async def container_interfaces(request: Request) -> list[dict[str, Any]]:
    """The interfaces of a container, which needs no agent."""
    guest = request.cluster.guest("lxc", request.node, request.vmid)
    if not power.is_running(guest):
        return []
    found = await _interfaces(request, guest)
    return [
        {**each, "hwaddr": each["hardware-address"], "inet": _inet(each)} if _inet(each) else each for each in found
    ]


def _inet(interface: dict[str, Any]) -> str:
    return next((f"{a['ip-address']}/{a['prefix']}" for a in interface["ip-addresses"]), "")


async def host_name(request: Request) -> dict[str, Any]:
    """The guest's host name."""
    guest = await _answering(request)
    return {"result": {"host-name": guest["config"].get("name", "")}}


async def ping(request: Request) -> dict[str, Any]:
    """Whether the agent answers."""
    await _answering(request)
    return {"result": {}}


async def execute(request: Request) -> dict[str, int]:
    """Run a command in the guest; how it ended is asked for by its pid."""
    guest, command = await _answering(request), request.params["command"]
    words = [command] if isinstance(command, str) else [str(word) for word in command]
    if not words or not words[0]:
        raise parameter_error(command="property is missing and it is not optional")
    result = await request.cluster.runtime.execute(guest, words, request.params.get("input-data", ""))
    pid = next(_pids)
    ended = {"exited": 1, "exitcode": result.exit_code, "out-data": result.output, "err-data": result.errors}
    _ended[request.vmid, pid] = {name: value for name, value in ended.items() if value != ""}
    while len(_ended) > 1000:
        del _ended[next(iter(_ended))]
    return {"pid": pid}


async def exec_status(request: Request) -> dict[str, Any]:
    """How a command ended."""
    await _answering(request)
    found = _ended.get((request.vmid, request.params["pid"]))
    if found is None:
        raise ApiError(f"Agent error: PID {request.params['pid']} does not exist")
    return found
