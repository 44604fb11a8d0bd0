"""Start, stop, shutdown and reboot of guests, within what their node has."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from proxmox_emulator.cluster import Cluster
from proxmox_emulator.errors import ApiError
from proxmox_emulator.guests import config, leases
from proxmox_emulator.records import Body
from proxmox_emulator.request import Request
from proxmox_emulator.tasks import TaskError, TaskLog

MIB = 1024**2


def memory(guest: Body) -> int:
    """Bytes of memory that a guest has when it runs."""
    return int(guest["config"].get("memory", 512)) * MIB


def cores(guest: Body) -> int:
    """Virtual CPUs of a guest."""
    return int(guest["config"].get("cores", 1)) * int(guest["config"].get("sockets", 1))


def is_running(guest: Body) -> bool:
    """Whether a guest runs."""
    return guest["status"] == "running"


async def boot(cluster: Cluster, guest: Body) -> None:
    """Start a guest, if its node has what it needs."""
    _require_room(cluster, guest)
    await cluster.runtime.start(guest)
    cluster.save_guest(guest, status="running", since=int(time.time()), running=guest["config"])


def _require_room(cluster: Cluster, guest: Body) -> None:
    node = cluster.node(guest["node"])
    if guest["type"] == "qemu" and cores(guest) > node.cores:
        raise TaskError(f"MAX {node.cores} vcpus allowed per VM on this node")
    used = sum(memory(other) for other in cluster.guests(node.name) if is_running(other))
    if used + memory(guest) > node.memory:
        raise TaskError("start failed: cannot set up guest memory 'pc.ram': Cannot allocate memory")
    for device in leases.devices(guest):
        if device.bridge and cluster.records.get("interface", f"{node.name}/{device.bridge}") is None:
            raise TaskError(f"bridge '{device.bridge}' does not exist")


async def halt(cluster: Cluster, guest: Body) -> None:
    """End a guest."""
    await cluster.runtime.stop(guest)
    cluster.save_guest(
        {key: value for key, value in guest.items() if key not in ("since", "running")}, status="stopped"
    )


def _task(request: Request, verb: str, step: Callable[[Body], Awaitable[None]]) -> str:
    cluster, kind = request.cluster, request.kind

    async def work(log: TaskLog) -> None:
        async with cluster.locks.hold(kind, request.vmid):
            guest = cluster.guest(kind, request.node, request.vmid)
            if not request.params.get("skiplock"):
                config.refuse_locked(guest)
            await step(guest)

    prefix = "qm" if kind == "qemu" else "vz"
    return cluster.tasks.start(request.node, prefix + verb, str(request.vmid), request.identity.name, work)


def _guest(request: Request) -> Body:
    return request.cluster.guest(request.kind, request.node, request.vmid)


def _name(request: Request) -> str:
    return f"{'VM' if request.kind == 'qemu' else 'CT'} {request.vmid}"


async def start(request: Request) -> str:
    """Start a guest that doesn't run."""
    guest = _guest(request)
    if is_running(guest):
        raise ApiError(f"{_name(request)} already running")
    if guest["config"].get("template"):
        raise ApiError(f"you can't start a {'vm' if request.kind == 'qemu' else 'CT'} if it's a template")
    return _task(request, "start", lambda now: boot(request.cluster, now))


async def stop(request: Request) -> str:
    """End a guest at once; nothing happens to one that doesn't run."""
    _guest(request)
    return _task(request, "stop", lambda now: _halt_running(request.cluster, now))


async def _halt_running(cluster: Cluster, guest: Body) -> None:
    if is_running(guest):
        await halt(cluster, guest)


async def shutdown(request: Request) -> str:
    """Let a guest end itself."""
    _guest(request)

    async def step(guest: Body) -> None:
        if is_running(guest):
            await request.cluster.runtime.shutdown(guest)
            await halt(request.cluster, guest)

    return _task(request, "shutdown", step)


async def reboot(request: Request) -> str:
    """Shut a guest down and start it again, with what waited for that."""
    if not is_running(_guest(request)):
        raise ApiError(f"{_name(request)} not running")

    async def step(guest: Body) -> None:
        await request.cluster.runtime.shutdown(guest)
        await halt(request.cluster, guest)
        await boot(request.cluster, request.cluster.guest(request.kind, request.node, request.vmid))

    return _task(request, "reboot", step)
