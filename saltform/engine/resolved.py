"""A component as it is known before any work: its inputs, what it is made of, and whether that has changed.

Release and fingerprint are digests of what pillar, modules, binary and provider lock say. If they and the state's
serial are those of the last good apply, the component is unchanged: nothing is locked, lent or started.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from saltform.config import Component
from saltform.engine.context import EnvironmentContext
from saltform.errors import BinaryError
from saltform.runlog import ComponentRecord
from saltform.terraform.binary import Binary, find
from saltform.tfstate import Head
from saltform.workspace.fingerprint import digest, fingerprint, release
from saltform.workspace.modules import Module
from saltform.workspace.root import Inputs

if TYPE_CHECKING:
    from saltform.workspace.remote_modules import RemoteModules


def find_binary(context: EnvironmentContext, component: Component) -> Binary:
    """`auto` is resolved once and pinned: a tofu installed later flips nothing."""
    record = context.records.get(context.stored_as(component.name))
    pinned = record.binary_path if component.binary == "auto" and record else ""
    wanted, cache = pinned or component.binary, context.services.layout.cache
    try:
        return find(wanted, component.version, cache_dir=cache, processes=context.services.processes)
    except BinaryError as error:
        if pinned and "found" not in error.data:  # it is gone, or is no terraform any more
            where = f"{component.path}:binary"
            error.fix = f"it made this component and is pinned: install it again, or name another at {where}"
        raise


class ResolvedComponent:
    """A component with its inputs resolved."""

    def __init__(self, context: EnvironmentContext, component: Component, inputs: Inputs) -> None:
        self.context = context
        self.services = context.services
        self.component = component
        self.inputs = inputs
        self._resolved = context.module(component)
        self._layout = context.services.layout
        self._where = (component.environment, component.name)
        self._lock_path = self._layout.provider_lock(*self._where)
        self._read_provider_lock()

    def _read_provider_lock(self) -> None:
        """Of the release that it goes back to; of its last upgrade or apply, on any master; or from this disk."""
        self._lock_on_disk = self._lock_path.read_bytes() if self._lock_path.exists() else b""
        made_of = self.context.releases.get(self.component.name)
        runlog, record = self.services.runlog, self.record
        if made_of:
            self.provider_lock = made_of.provider_lock_over(self._lock_on_disk)
        elif runlog.shared and record is not None:
            applied = str(runlog.release(record.release)["provider_lock"])
            self.provider_lock = (record.next_lock or applied).encode()
        else:
            self.provider_lock = self._lock_on_disk

    @cached_property
    def module(self) -> Module:
        """With the modules from elsewhere that it calls, if they were fetched before."""
        return self._remote_modules().kept() if self._resolved.unkept else self._resolved

    def _remote_modules(self) -> RemoteModules:
        from saltform.workspace.remote_modules import RemoteModules  # most modules call none

        return RemoteModules(self.context.modules, self._resolved, self.binary.product)

    @property
    def record(self) -> ComponentRecord | None:
        return self.context.records.get(self.component.name)

    @cached_property
    def binary(self) -> Binary:
        return find_binary(self.context, self.component)

    @property
    def binary_pin(self) -> str:
        return "embedded" if len(self.binary.path) > 1 else self.binary.path[0]

    @property
    def release(self) -> dict[str, Any]:
        binary = f"{self.binary.product} {self.binary.version}"
        return release(self.component, self.module, self.provider_lock, binary)

    @property
    def fingerprint(self) -> str:
        # A secret's version stands for its value: a rotated one is noticed without being read.
        secrets = self.context.lender.versions(self.component) if self.component.secret_variables else {}
        return fingerprint(digest(self.release), self.component, self.inputs, secrets, self.context.digest_key)

    @property
    def head(self) -> Head | None:
        return self.context.states.head(*self._where)

    def unchanged(self) -> bool:
        """Same fingerprint, same serial and lineage as after the last good apply: nothing to start."""
        record, head = self.record, self.head
        if record is None or head is None or not record.fingerprint:
            return False
        if (record.serial, record.lineage) != (head.serial, head.lineage):
            return False
        return not self.module.unkept and record.fingerprint == self.fingerprint
