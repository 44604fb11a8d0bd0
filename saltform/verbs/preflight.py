"""preflight: everything that a deploy will need, checked at once and shown as one table. Changes nothing."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from typing import Any

from saltform.config import Component
from saltform.credentials.check import check as check_credentials
from saltform.engine.context import EnvironmentContext
from saltform.engine.options import Options
from saltform.engine.result import result
from saltform.engine.services import Services
from saltform.engine.states import CANNOT_READ
from saltform.engine.work import ComponentWork
from saltform.errors import EXIT_DONE, EXIT_FAILED, SaltformError
from saltform.features.minions.key_tokens import by_hand, not_accepted, obstacle, would_wait_in_vain
from saltform.features.minions.offers import check_offers
from saltform.features.states.foreign import refuse_foreign
from saltform.files import make_folder, write_atomic
from saltform.minions import SaltMaster
from saltform.mounts import check_flock
from saltform.report.progress import Progress
from saltform.report.words import plural
from saltform.runlog import StepRecord
from saltform.status import Status
from saltform.terraform import validate
from saltform.terraform.mirror import describe

KNOWN_SALT = range(3006, 3009)  # as setup.py says
LEAST_DISK = 1 << 30  # a provider unpacks to several hundred megabytes


@dataclass(frozen=True)
class Check:
    """One line of the table. `component` is empty for what all of them share.

    A warning is no failure: what it says may be meant so.
    """

    check: str
    component: str
    ok: bool
    detail: str = ""
    fix: str = ""
    warning: bool = False


def preflight(services: Services, environment: str, components: Any) -> dict[str, Any]:
    """Check the named components, or all, and what they share."""
    options = Options.parse({"components": components})
    home = services.settings.state_dir
    locks = _try("locks", "", lambda: f"{home} is on {check_flock(home)}")
    if not locks.ok:  # nothing else can be looked at: even the run log would be opened there
        return _table(environment, [locks])
    with EnvironmentContext(services, environment) as context:
        names = context.select(list(options.components))
        try:
            checks = [locks, *_checked(context, names)]
        finally:
            # The logs of a question that is on no record; what failed is in the table.
            shutil.rmtree(services.layout.run(services.run_id), ignore_errors=True)
    return _table(context.name, checks)


def _table(environment: str, checks: list[Check]) -> dict[str, Any]:
    failed = sum(not item.ok for item in checks)
    counted = plural(len(checks), "check")
    warnings = sum(item.warning for item in checks)
    summary = f"{failed} of {counted} failed" if failed else f"{counted} passed"
    summary += f", {plural(warnings, 'warning')}" if warnings else ""
    return result(
        "preflight",
        EXIT_FAILED if failed else EXIT_DONE,
        environment=environment,
        summary=f"preflight {environment}: {summary}",
        checks=[asdict(item) for item in checks],
    )


def _checked(context: EnvironmentContext, names: list[str]) -> list[Check]:
    """What all share first, under the environment's name, then the components; told to whoever watches."""
    progress = context.services.progress or Progress(io.StringIO())
    progress.start(f"preflight {context.name}", [context.name, *names])

    def told(name: str, found: Iterable[Check]) -> list[Check]:
        progress.step(name, Status.RUNNING, "checking")
        checks = list(found)
        bad = ", ".join(item.check for item in checks if not item.ok)
        progress.step(name, Status.FAILED if bad else Status.UNCHANGED, bad)
        return checks

    try:
        of_salt = _salt(context.services.master), _keys(context, names)
        shared = chain(_shared(context, names), *of_salt, _servers(context, names), _providers(context, names))
        checks = told(context.name, shared)
        with ThreadPoolExecutor(context.environment.parallelism) as pool:
            for found in pool.map(lambda name: told(name, _component(context, name)), names):
                checks += found
    finally:
        progress.finish()
    return checks


def _try(name: str, component: str, work: Callable[[], str]) -> Check:
    try:
        return Check(name, component, True, work())
    except SaltformError as error:
        return Check(name, component, False, f"{error.summary}: {error.detail}", error.fix)


def _shared(context: EnvironmentContext, names: list[str]) -> Iterator[Check]:
    layout = context.services.layout

    def writable() -> str:
        probe = layout.states(context.name, f".probe-{os.getpid()}") / "probe"
        write_atomic(probe, b"")
        shutil.rmtree(probe.parent)
        return f"{layout.state_dir / 'states'} is writable"

    if any(context.component(name).backend.type == "local" for name in names):
        yield _try("backend local", "", writable)
    make_folder(layout.state_dir)
    free = shutil.disk_usage(layout.state_dir).free
    fix = f"free space below {layout.state_dir}" if free < LEAST_DISK else ""
    yield Check("disk", "", free >= LEAST_DISK, f"{free / 2**30:.1f} GiB free", fix)
    yield _try("mirror", "", partial(_mirror, context))


def _mirror(context: EnvironmentContext) -> str:
    context.cli_config  # noqa: B018 (made ready, or said why not)
    return describe(context.services.settings.mirror)


def _salt(master: SaltMaster | None) -> Iterator[Check]:
    """Under a Salt that we don't know all modules load, and most will work."""
    if master is not None:
        known = master.line in KNOWN_SALT
        said = "" if known else f" is none that this Saltform knows ({KNOWN_SALT[0]} to {KNOWN_SALT[-1]})"
        fix = "" if known else "a Saltform that knows it; until then, try on something that may break"
        yield Check("salt", "", True, f"Salt {master.version}{said}", fix, warning=not known)


def _keys(context: EnvironmentContext, names: list[str]) -> Iterator[Check]:
    """Each component that has minions: whether their one-time tokens can get through to this master."""
    with_minions = [component for component in map(context.component, names) if component.minions]
    if context.services.master is None or not with_minions:
        return
    found = obstacle(context.services.master)
    if found is None:
        yield from (Check("minion keys", item.name, True, "one-time tokens get through") for item in with_minions)
        return
    try:
        keys = context.services.minions.keys()
    except SaltformError as error:
        yield Check("minion keys", "", False, f"{error.summary}: {error.detail}", error.fix)
        return
    for component in with_minions:
        waiting = not_accepted(keys, component)
        bad = would_wait_in_vain(context, component, waiting)
        said = f"one-time tokens can't get through here: {found.why}"
        said += f"; converge would wait for {', '.join(waiting)} in vain" if bad else ""
        fix = (
            f"{found.fix}; or saltform: {{keys: manual}} and, when they come, {by_hand(waiting or component.minions)}"
        )
        yield Check("minion keys", component.name, not bad, said, fix, warning=not bad)


def _servers(context: EnvironmentContext, names: list[str]) -> Iterator[Check]:
    """Each component whose state is on a server: whether it can be read there, and is where it was."""

    def asked(name: str) -> str:
        refuse_foreign(context, name, fetch=False)
        head = context.states.head(context.name, name)
        return f"serial {head.serial}" if head else "reached, and nothing there yet"

    for name in names:
        backend = context.component(name).backend
        if backend.type != "local":
            yield _try(f"backend {backend.type}", name, partial(asked, name))


def _providers(context: EnvironmentContext, names: list[str]) -> Iterator[Check]:
    """Each provider once: whom it takes us for, and what it has to offer."""
    using: dict[str, list[Component]] = {}
    for name in names:
        component = context.component(name)
        if component.provider is not None:
            using.setdefault(component.provider.name, []).append(component)
    for provider, components in using.items():
        found = check_credentials(context.lender, components[0])
        said = found.who or found.detail or "complete"
        yield Check(f"credentials {provider}", "", found.ok is not False, said, found.fix)
        if found.ok:
            for component in components:
                wanted = _instance_types(context, component)
                for name, ok, detail, fix in check_offers(context.lender, component, wanted):
                    yield Check(name, component.name, ok, detail, fix)


def _instance_types(context: EnvironmentContext, component: Component) -> list[str]:
    """Values of variables that name an instance type, the module's defaults included."""
    defaults = context.module(component).interface.variables
    values = {name: item.default for name, item in defaults.items()} | dict(component.variables)
    named = (value for name, value in values.items() if name.endswith("instance_type"))
    return sorted({value for value in named if isinstance(value, str)})


def _component(context: EnvironmentContext, name: str) -> Iterator[Check]:
    component = context.component(name)
    try:
        part = ComponentWork(context, component, context.inputs(component), StepRecord(name))
    except CANNOT_READ as error:
        yield Check("inputs", name, False, f"{error.summary}: {error.detail}", error.fix)
        return
    if component.backend.type == "local":  # of one on a server, that was a part of asking the server
        try:
            refuse_foreign(context, context.stored_as(name))
        except CANNOT_READ as error:
            yield Check("state", name, False, f"{error.summary}: {error.detail}", error.fix)
    binary = _try("binary", name, lambda: f"{part.binary.product} {part.binary.version}")
    yield binary
    if binary.ok:
        yield _try("module", name, lambda: _validated(part))


def _validated(part: ComponentWork) -> str:
    """`terraform validate` on the rendered root: module, variables and provider schemas together."""
    with part.at_work(lock=False) as session:
        try:
            part.prepare(session)
            found = validate.run(session)
        finally:
            shutil.rmtree(session.workspace, ignore_errors=True)
    if not found.valid:
        raise SaltformError(
            f"{part.component.module} is not valid",
            "; ".join(str(item) for item in found.errors),
            f"correct the module, or {part.component.path}:variables",
        )
    warnings = len(found.diagnostics)
    return "valid" + (f", {plural(warnings, 'warning')}" if warnings else "")
