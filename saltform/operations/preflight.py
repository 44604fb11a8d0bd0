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
from saltform.errors import EXIT_DONE, EXIT_FAILED, SaltformError
from saltform.files import make_folder, write_atomic
from saltform.operations.environment.opened import Opened
from saltform.operations.fleet.offers import check_offers
from saltform.operations.run.options import Options
from saltform.operations.run.result import result
from saltform.operations.run.services import Services
from saltform.operations.states.backends import CANNOT_READ
from saltform.operations.step.part import Part
from saltform.progress import Progress
from saltform.report.words import plural
from saltform.runlog import StepRecord
from saltform.status import Status
from saltform.terraform import validate
from saltform.terraform.mirror import describe

LEAST_DISK = 1 << 30  # a provider unpacks to several hundred megabytes


@dataclass(frozen=True)
class Check:
    """One line of the table. `component` is empty for what all of them share."""

    check: str
    component: str
    ok: bool
    detail: str = ""
    fix: str = ""


def preflight(services: Services, environment: str, components: Any) -> dict[str, Any]:
    """Check the named components, or all, and what they share."""
    options = Options.parse({"components": components})
    with Opened(services, environment) as opened:
        names = opened.select(list(options.components))
        try:
            checks = _checked(opened, names)
        finally:
            # The logs of a question that is on no record; what failed is in the table.
            shutil.rmtree(services.layout.run(services.run_id), ignore_errors=True)
    failed = sum(not item.ok for item in checks)
    counted = plural(len(checks), "check")
    summary = f"{failed} of {counted} failed" if failed else f"{counted} passed"
    return result(
        "preflight",
        EXIT_FAILED if failed else EXIT_DONE,
        environment=opened.name,
        summary=f"preflight {opened.name}: {summary}",
        checks=[asdict(item) for item in checks],
    )


def _checked(opened: Opened, names: list[str]) -> list[Check]:
    """What all share first, under the environment's name, then the components; told to whoever watches."""
    progress = opened.services.progress or Progress(io.StringIO())
    progress.start(f"preflight {opened.name}", [opened.name, *names])

    def told(name: str, found: Iterable[Check]) -> list[Check]:
        progress.step(name, Status.RUNNING, "checking")
        checks = list(found)
        bad = ", ".join(item.check for item in checks if not item.ok)
        progress.step(name, Status.FAILED if bad else Status.UNCHANGED, bad)
        return checks

    try:
        shared = chain(_shared(opened, names), _servers(opened, names), _providers(opened, names))
        checks = told(opened.name, shared)
        with ThreadPoolExecutor(opened.environment.parallelism) as pool:
            for found in pool.map(lambda name: told(name, _component(opened, name)), names):
                checks += found
    finally:
        progress.finish()
    return checks


def _try(name: str, component: str, work: Callable[[], str]) -> Check:
    try:
        return Check(name, component, True, work())
    except SaltformError as error:
        return Check(name, component, False, f"{error.summary}: {error.detail}", error.fix)


def _shared(opened: Opened, names: list[str]) -> Iterator[Check]:
    layout = opened.services.layout

    def writable() -> str:
        probe = layout.states(opened.name, f".probe-{os.getpid()}") / "probe"
        write_atomic(probe, b"")
        shutil.rmtree(probe.parent)
        return f"{layout.state_dir / 'states'} is writable"

    if any(opened.component(name).backend.type == "local" for name in names):
        yield _try("backend local", "", writable)
    make_folder(layout.state_dir)
    free = shutil.disk_usage(layout.state_dir).free
    fix = f"free space below {layout.state_dir}" if free < LEAST_DISK else ""
    yield Check("disk", "", free >= LEAST_DISK, f"{free / 2**30:.1f} GiB free", fix)
    yield _try("mirror", "", partial(_mirror, opened))


def _mirror(opened: Opened) -> str:
    opened.cli_config  # noqa: B018 (made ready, or said why not)
    return describe(opened.services.settings.mirror)


def _servers(opened: Opened, names: list[str]) -> Iterator[Check]:
    """Each component whose state is on a server: whether it can be read there, and is where it was."""

    def asked(name: str) -> str:
        head = opened.states.head(opened.name, name)
        return f"serial {head.serial}" if head else "reached, and nothing there yet"

    for name in names:
        backend = opened.component(name).backend
        if backend.type != "local":
            yield _try(f"backend {backend.type}", name, partial(asked, name))


def _providers(opened: Opened, names: list[str]) -> Iterator[Check]:
    """Each provider once: whom it takes us for, and what it has to offer."""
    using: dict[str, list[Component]] = {}
    for name in names:
        component = opened.component(name)
        if component.provider is not None:
            using.setdefault(component.provider.name, []).append(component)
    for provider, components in using.items():
        found = check_credentials(opened.lender, components[0])
        said = found.who or found.detail or "complete"
        yield Check(f"credentials {provider}", "", found.ok is not False, said, found.fix)
        if found.ok:
            for component in components:
                wanted = _instance_types(opened, component)
                for name, ok, detail, fix in check_offers(opened.lender, component, wanted):
                    yield Check(name, component.name, ok, detail, fix)


def _instance_types(opened: Opened, component: Component) -> list[str]:
    """Values of variables that name an instance type, the module's defaults included."""
    defaults = opened.module(component).interface.variables
    values = {name: item.default for name, item in defaults.items()} | dict(component.variables)
    named = (value for name, value in values.items() if name.endswith("instance_type"))
    return sorted({value for value in named if isinstance(value, str)})


def _component(opened: Opened, name: str) -> Iterator[Check]:
    component = opened.component(name)
    try:
        part = Part(opened, component, opened.inputs(component), StepRecord(name))
    except CANNOT_READ as error:
        yield Check("inputs", name, False, f"{error.summary}: {error.detail}", error.fix)
        return
    binary = _try("binary", name, lambda: f"{part.binary.product} {part.binary.version}")
    yield binary
    if binary.ok:
        yield _try("module", name, lambda: _validated(part))


def _validated(part: Part) -> str:
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
