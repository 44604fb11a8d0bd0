"""A component as a release says it, whatever pillar says by now: for orphans, and for going back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from saltform.config import Component, Input
from saltform.config.backends import decode
from saltform.config.types import Origin
from saltform.errors import StateError
from saltform.terraform.init import locked_providers

if TYPE_CHECKING:
    from saltform.engine.context import EnvironmentContext


@dataclass(frozen=True)
class Released:
    """A component made of a release: its module and provider lock come from there, too."""

    component: Component
    content: Mapping[str, Any]

    def provider_lock_over(self, on_disk: bytes) -> bytes:
        """The release's own, unless the one on disk locks the same versions: `init` adds this platform's hashes."""
        released = str(self.content["provider_lock"]).encode()
        same = released == on_disk or locked_providers(released) == locked_providers(on_disk)
        return on_disk if same else released


def released(context: EnvironmentContext, name: str, digest: str, binary: str) -> Released:
    """The component as it was in that release.

    What a release doesn't have comes from pillar, if the component is still there: where secrets and states are, time
    limits, targets. Its provider is the one that pillar has under that name now.
    """
    content = context.services.runlog.release(digest)
    record = context.records.get(name)
    base = context.environment.components.get(name) or Component(
        environment=context.name,
        name=name,
        module="",
        backend=decode(record.backend if record else ""),
        minions=context.services.runlog.minions.ids(context.name, name),
        path=f"(orphan {context.name}/{name})",
    )
    component = dataclasses.replace(
        base,
        module=content["module"]["reference"],
        provider=context.infrastructure.providers.get(content["provider"]),
        variables=content["variables"],
        secret_variables={
            variable: source
            for variable, source in base.secret_variables.items()
            if variable in content["secret_variables"]
        },
        inputs=tuple(_input(variable, text) for variable, text in content["inputs"].items()),
        needs=tuple(content["needs"]),
        stateful=content["stateful"],
        binary=binary,
        version="",
        origin=Origin(content["promoted"]) if content.get("promoted") else None,
    )
    return Released(component, content)


def needs_of(context: EnvironmentContext, digest: str) -> list[str]:
    """What a release needs."""
    needs: list[str] = context.services.runlog.release(digest)["needs"]
    return needs


def check_within_reach(item: Released) -> None:
    """What left the pillar and no release holds: the provider's settings, and where secrets come from."""
    wanted, component = item.content["provider"], item.component
    if wanted and component.provider is None:
        raise StateError(
            f"{component.name} can't be reached",
            f"its provider {wanted!r} is no longer under infrastructure:providers",
            f"put {wanted!r} back there until {component.name} is destroyed",
        )


def check_secrets(item: Released) -> None:
    lost = sorted(set(item.content["secret_variables"]) - set(item.component.secret_variables))
    if lost:
        raise StateError(
            f"{item.component.name} can't go back to an earlier release",
            f"where its secret variables came from is no longer in pillar: {', '.join(lost)}",
            "put them back under secret_variables:",
        )


def _input(variable: str, expression: str) -> Input:
    component, output = expression.removeprefix("@").split(".", 1)
    return Input(variable, component, output)
