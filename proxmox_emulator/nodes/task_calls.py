"""Tasks as the API shows them."""

from __future__ import annotations

from typing import Any

from proxmox_emulator.access import privileges
from proxmox_emulator.errors import forbidden
from proxmox_emulator.records import Body
from proxmox_emulator.request import Request


def _entry(upid: str, task: Body) -> dict[str, Any]:
    names = ("node", "type", "id", "user", "starttime", "endtime", "pid")
    found = {name: task[name] for name in names if name in task}
    return {"upid": upid, **found, **({"status": task["exitstatus"]} if "endtime" in task else {})}


def _visible(request: Request, task: Body) -> bool:
    mine = task["user"].partition("!")[0] == request.identity.user
    found = privileges.privileges(request.cluster.records, request.identity, f"/nodes/{task['node']}")
    return mine or "Sys.Audit" in found


def _find(request: Request) -> Body:
    task = request.cluster.tasks.get(request.params["upid"])
    if not _visible(request, task):
        raise forbidden(f"/nodes/{task['node']}", ["Sys.Audit"])
    return task


async def node_tasks(request: Request) -> list[dict[str, Any]]:
    """The tasks of a node, the newest first."""
    return _listed(request, request.node)[: request.params.get("limit", 50)]


async def cluster_tasks(request: Request) -> list[dict[str, Any]]:
    """The newest tasks of all nodes."""
    return _listed(request, None)[:50]


def _listed(request: Request, node: str | None) -> list[dict[str, Any]]:
    vmid = request.params.get("vmid")
    found = [
        _entry(upid, task)
        for upid, task in request.cluster.records.all("task").items()
        if node in (None, task["node"]) and vmid in (None, _number(task["id"])) and _visible(request, task)
    ]
    return sorted(found, key=lambda task: (-task["starttime"], task["upid"]))


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None


async def task_status(request: Request) -> dict[str, Any]:
    """One task."""
    task = _find(request)
    found = {**_entry(request.params["upid"], task), "status": "stopped" if "endtime" in task else "running"}
    return {**found, "exitstatus": task["exitstatus"]} if "endtime" in task else found


async def task_log(request: Request) -> list[dict[str, Any]]:
    """The lines of a task's log."""
    lines = _find(request)["log"] or ["no content"]
    start, limit = request.params.get("start", 0), request.params.get("limit") or 50
    return [{"n": number, "t": line} for number, line in enumerate(lines, 1)][start : start + limit]


async def stop_task(request: Request) -> None:
    """Interrupt a task."""
    task = _find(request)
    if task["user"].partition("!")[0] != request.identity.user:
        privileges.require(request.cluster.records, request.identity, f"/nodes/{task['node']}", "Sys.Modify")
    request.cluster.tasks.stop(request.params["upid"])
