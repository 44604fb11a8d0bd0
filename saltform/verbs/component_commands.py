"""The commands of terraform on one component, as `salt/_modules/terraform.py` offers them.

Names are `environment/component`; addresses are written as in the module. Questions return plain values, changes
return the dictionary of a run. Nothing sensitive is in either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from saltform.credentials.masking import Masker
from saltform.engine.context import EnvironmentContext
from saltform.engine.redaction import secret_texts, shown_values
from saltform.engine.result import shown_outputs
from saltform.engine.selection import find
from saltform.engine.services import Services
from saltform.engine.work import ComponentWork
from saltform.errors import SaltformError, UnknownName
from saltform.status import Status
from saltform.terraform import binary, fmt, import_, state
from saltform.terraform import force_unlock as unlocking
from saltform.terraform import providers as asked_for
from saltform.terraform import show as showing
from saltform.terraform import taint as tainting
from saltform.terraform import validate as validating
from saltform.terraform import version as versions
from saltform.terraform.session import Session
from saltform.terraform.stream import masked
from saltform.verbs import deploy as deploys
from saltform.verbs import destroy as destroys
from saltform.verbs import plan as plans
from saltform.verbs.one_component import asking, changing, record_state_edited, split
from saltform.workspace.root import address_in_module, address_in_root

# --- questions ----------------------------------------------------------------------------------------------


def version(services: Services, name: str | None = None) -> dict[str, Any]:
    """The binary that `auto` finds here, or the one of a component with the providers it has chosen."""
    if name is None:
        found = binary.find("auto", cache_dir=services.layout.cache, processes=services.processes)
        return {"product": found.product, "version": found.version, "path": " ".join(found.path)}
    with asking(services, name) as (_part, session):
        return versions.run(session) | {"path": " ".join(session.binary.path)}


def validate(services: Services, name: str) -> dict[str, Any]:
    with asking(services, name) as (_part, session):
        found = validating.run(session)
        return {"valid": found.valid, "problems": [str(item) for item in found.diagnostics]}


def fmt_check(services: Services, name: str) -> list[str]:
    """The module's files that `terraform fmt` would rewrite."""
    with asking(services, name) as (_part, session):
        return [item.removeprefix("module/") for item in fmt.run(session, session.workspace / "module")]


def providers(services: Services, name: str) -> dict[str, list[str]]:
    with asking(services, name) as (_part, session):
        return asked_for.run(session)


def show(services: Services, name: str) -> dict[str, Any]:
    """The resources in the state with their values, address by address."""
    with asking(services, name) as (_part, session):
        values = shown_values(showing.run(session))
        return masked({address_in_module(address): item for address, item in values.items()}, session.mask)


def output(services: Services, name: str, wanted: str | None = None) -> Any:
    """All outputs, or the value of one. Read from the state: nothing is started."""
    environment, component = split(services, name)
    with EnvironmentContext(services, environment) as context:
        found = shown_outputs(context.outputs(find(context, component).name))
    if wanted is None:
        return found
    if wanted not in found:
        raise UnknownName(f"output of {name}", wanted, found)
    return found[wanted]


def state_list(services: Services, name: str) -> list[str]:
    """The addresses in the state. Read from the state: nothing is started."""
    environment, component = split(services, name)
    with EnvironmentContext(services, environment) as context:
        held = context.states.read(environment, find(context, component).name)
    return [address_in_module(address) for address in held.resources] if held else []


def state_show(services: Services, name: str, address: str) -> str:
    with asking(services, name) as (_part, session):
        secrets = secret_texts(showing.run(session))
        return session.mask(Masker(secrets).line(state.show(session, address_in_root(address))))


def workspace_path(services: Services, name: str) -> str:
    environment, component = split(services, name)
    find(EnvironmentContext(services, environment), component)
    return str(services.layout.workspace(environment, component))


# --- runs -----------------------------------------------------------------------------------------------------


def plan(services: Services, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    environment, component = split(services, name)
    return plans.plan(services, environment, {**given, "components": [component], "only": True})


def apply(services: Services, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    environment, component = split(services, name)
    return deploys.deploy(services, environment, {**given, "components": [component], "only": True})


def destroy(services: Services, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Destroy one component; refused while another one that needs it still has something."""
    environment, component = split(services, name)
    with EnvironmentContext(services, environment) as context:
        find(context, component)
        check_nobody_needs(context, component)
    return destroys.destroy(services, environment, {**given, "components": [component], "only": True})


def check_nobody_needs(context: EnvironmentContext, component: str) -> None:
    above = context.graph.dependents([component]) if component in context.environment.components else set()
    holding = sorted(item for item in above if context.resources(item))
    if holding:
        raise SaltformError(
            f"{context.name}/{component} is still needed",
            f"{', '.join(holding)} needs it and still has resources",
            f"destroy {holding[0]} first, or all in order: salt-run infrastructure.destroy {context.name} "
            f"components={component} yes=True",
        )


def init(services: Services, name: str) -> dict[str, Any]:
    """Render the component's workspace and initialise it."""
    return changing(services, name, "init", lambda part, session: Status.UNCHANGED, {})


def state_rm(services: Services, name: str, address: str) -> dict[str, Any]:
    def work(session: Session) -> list[str]:
        return state.rm(session, address_in_root(address))

    return _edit(services, name, "state_rm", work, {"address": address}, {"address": address, "action": "forget"})


def state_mv(services: Services, name: str, source: str, destination: str) -> dict[str, Any]:
    def work(session: Session) -> list[str]:
        return state.mv(session, address_in_root(source), address_in_root(destination))

    change = {"address": destination, "action": "move", "moved_from": source}
    return _edit(services, name, "state_mv", work, {"source": source, "destination": destination}, change)


def import_resource(services: Services, name: str, address: str, resource_id: str) -> dict[str, Any]:
    def work(session: Session) -> list[str]:
        return import_.run(session, address_in_root(address), resource_id)

    change = {"address": address, "action": "import"}
    return _edit(services, name, "import_resource", work, {"address": address, "id": resource_id}, change)


def taint(services: Services, name: str, address: str) -> dict[str, Any]:
    def work(session: Session) -> list[str]:
        return tainting.run(session, address_in_root(address))

    return _edit(services, name, "taint", work, {"address": address}, {"address": address, "action": "taint"})


def untaint(services: Services, name: str, address: str) -> dict[str, Any]:
    def work(session: Session) -> list[str]:
        return tainting.run(session, address_in_root(address), undo=True)

    return _edit(services, name, "untaint", work, {"address": address}, {"address": address, "action": "untaint"})


def force_unlock(services: Services, name: str, lock_id: str) -> dict[str, Any]:
    """Our own lock is held meanwhile, so no living run of ours is behind that one."""

    def work(_part: ComponentWork, session: Session) -> Status:
        unlocking.run(session, lock_id)
        return Status.UNCHANGED

    return changing(services, name, "force_unlock", work, {"lock_id": lock_id})


# --- inside ---------------------------------------------------------------------------------------------------


def _edit(
    services: Services,
    name: str,
    verb: str,
    work: Callable[[Session], list[str]],
    options: Mapping[str, str],
    change: dict[str, str],
) -> dict[str, Any]:
    """A change of the state by hand: one change on record, and not what was applied any more."""

    def edit(part: ComponentWork, session: Session) -> Status:
        work(session)
        part.step.details["changes"] = [change]
        record_state_edited(part, verb)
        return Status.APPLIED

    return changing(services, name, verb, edit, options)
