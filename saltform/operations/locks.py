"""locks: who works on what at this moment."""

from __future__ import annotations

from typing import Any

from saltform.config import nearest
from saltform.errors import UnknownName
from saltform.operations.run.result import result
from saltform.operations.run.services import Services


def locks(services: Services, environment: str | None) -> dict[str, Any]:
    """Every lock that is held, with its holder. It works with a pillar that doesn't."""
    name = environment or ""
    folder = services.layout.component_lock(name, "any").parent
    known = services.environments
    if not name or (name not in known and not folder.is_dir()):
        raise UnknownName("environment", name, known, nearest(name, known))
    waiting = services.locks.waiting(name)
    taken = {
        component: {**_entry(services, holder), "waiting": waiting.get(component, [])}
        for component, holder in services.locks.holders(name).items()
    }
    return result("locks", environment=name, summary=f"{name}: {len(taken)} locked", locks=taken, notes=[])


def _entry(services: Services, holder: dict[str, Any]) -> dict[str, Any]:
    """A lock whose run is gone is held by the terraform process that outlived it."""
    return {**holder, "run_alive": services.locks.run_alive(str(holder.get("run", "")))}
