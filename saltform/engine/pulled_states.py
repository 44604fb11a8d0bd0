"""Whole states by terraform itself: of backends that only terraform can read, and to move a state.

A root that has nothing but the backend is enough for that: no module, no provider, and `init` takes a moment.
"""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

from saltform.config.backends import block
from saltform.config.types import NOTHING, Backend
from saltform.files import make_folder, write_atomic
from saltform.layout import STATE_FILE
from saltform.process import clean_environment
from saltform.runlog import StepRecord
from saltform.terraform import init, state
from saltform.terraform.session import Session
from saltform.tfstate import Head, Output, State, States, read
from saltform.workspace import root as roots
from saltform.workspace.folder import ROOT_FILE

if TYPE_CHECKING:
    from saltform.engine.context import EnvironmentContext
    from saltform.runlog.copies import StateCopy


@contextlib.contextmanager
def at_backend(context: EnvironmentContext, name: str, backend: Backend) -> Iterator[Session]:
    """Terraform at a backend, with that backend's credentials and nothing else, in a folder that is deleted."""
    from saltform.engine.work import ComponentWork

    component = context.component(name)
    layout, services = context.services.layout, context.services
    bare = dataclasses.replace(component, provider=None, secret_variables=NOTHING, backend=backend)
    binary = ComponentWork(context, component, {}, StepRecord(name)).binary
    folder = make_folder(layout.workspace(context.name, f"{name}.{services.run_id}.{backend.type}"))
    tree = roots.backend_block(backend.type, block(backend, binary.version))
    if backend.type == "local":
        tree = {"local": {"path": str(make_folder(layout.states(context.name, name)) / STATE_FILE)}}
    try:
        write_atomic(folder / ROOT_FILE, roots.encode({"terraform": {"backend": tree}}), durable=False)
        with context.lender.lend(bare) as loan:
            session = Session(
                binary=binary,
                workspace=folder,
                env=clean_environment(folder / ".home", context.cli_config.path, loan.environment),
                processes=services.processes,
                log=lambda _line: None,
                cancel=services.cancel,
                component=component.id,
                timeouts=component.timeouts,
                mask=loan.masker.line,
            )
            init.run(session)
            yield session
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def pull(session: Session, name: str) -> tuple[bytes, State | None]:
    """The whole state as it is stored, and what it says; nothing where there is none."""
    content = state.pull(session)
    found = read(content, name) if content else None
    if found is not None and not (found.serial or found.resources or found.outputs):
        return b"", None  # terraform makes an empty one up where nothing was ever stored
    return content, found


class PulledStates(States):
    """States that only terraform can read."""

    def __init__(self, context: EnvironmentContext) -> None:
        self._context = context
        self._pulled: dict[tuple[str, str], State | None] = {}

    def invalidate(self, environment: str, component: str) -> None:
        """It may have changed: terraform is asked, and its answer stands from now on."""
        with at_backend(self._context, component, self._context.states.backend(component)) as session:
            self._pulled[environment, component] = pull(session, component)[1]

    def head(self, environment: str, component: str) -> Head | None:
        copy = self._copy(environment, component)
        if copy is not None:
            return Head(copy.serial, copy.lineage)
        found = self.read(environment, component)
        return found.head if found else None

    def read(self, environment: str, component: str) -> State | None:
        where = (environment, component)
        copy = self._copy(environment, component)
        if copy is not None and copy.outputs.keys() == copy.ordinary.keys():  # no sensitive value is missing there
            outputs = {name: Output(value) for name, value in copy.ordinary.items()}
            return State(copy.serial, copy.lineage, "", outputs, copy.resources)
        if where not in self._pulled:
            self.invalidate(environment, component)
        return self._pulled[where]

    def _copy(self, environment: str, component: str) -> StateCopy | None:
        """The run log's copy, as long as it is what the last good apply left: after any other, terraform is asked."""
        record = self._context.records.get(component)
        if (environment, component) in self._pulled or record is None or not record.fingerprint:
            return None
        copy = self._context.services.runlog.copies.all(environment).get(component)
        return copy if copy and (copy.serial, copy.lineage) == (record.serial, record.lineage) else None
