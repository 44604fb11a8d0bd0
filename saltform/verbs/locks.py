"""locks: who works on what at this moment."""

from __future__ import annotations

from typing import Any

from saltform.config import nearest
from saltform.engine.result import result
from saltform.engine.services import Services
from saltform.errors import UnknownName


def locks(services: Services, environment: str | None) -> dict[str, Any]:
    """Every lock that is held, with its holder. It works with a pillar that doesn't."""
    name = environment or ""
    folder = services.layout.component_lock(name, "any").parent
    known = services.environments
    if not name or (name not in known and not folder.is_dir()):
        raise UnknownName("environment", name, known, nearest(name, known))
    waiting = services.locks.waiting(name)
    taken = {
        component: {**_entry(services, name, component, holder), "waiting": waiting.get(component, [])}
        for component, holder in services.locks.holders(name).items()
    }
    return result("locks", environment=name, summary=f"{name}: {len(taken)} locked", locks=taken, notes=[])


def _entry(services: Services, environment: str, component: str, holder: dict[str, Any]) -> dict[str, Any]:
    """A lock whose run is gone is kept by a terraform that outlived it, or by what a provisioner left behind."""
    entry = {**holder, "run_alive": services.locks.run_alive(str(holder.get("run", "")))}
    if not entry["run_alive"]:
        kept = services.locks.kept_by(environment, component)
        entry["kept_by"] = [
            {"process": item.process, "program": item.program, "terraform": item.is_terraform()} for item in kept
        ]
    return entry
