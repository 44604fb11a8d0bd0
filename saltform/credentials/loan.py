"""What one component was lent: variables for its processes, and what must be masked in their output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from saltform.config.kinds import KINDS, Kind
from saltform.config.types import Component, CredentialSource
from saltform.credentials import backends
from saltform.credentials.masking import Masker
from saltform.credentials.source import Fetched, choose, only_value, place, text
from saltform.errors import CredentialError

if TYPE_CHECKING:
    from saltform.credentials.leases import LockLease
    from saltform.credentials.lender import Lender

VARIABLE_PREFIX = "TF_VAR_"


@dataclass
class Taken:
    """One source's answer in the hands of a loan. `purpose`: provider, backend, or `variable NAME`."""

    purpose: str
    asked: CredentialSource
    fetched: Fetched = field(repr=False)
    held: LockLease | None = None


@dataclass(frozen=True)
class Served:
    """One line of "which source serves what": names, never values."""

    purpose: str
    source: str
    path: str
    variables: tuple[str, ...]
    lease: str = ""
    seconds_left: float | None = None


class Loan:
    """A context manager; leaving it gives everything back."""

    def __init__(self, lender: Lender, component: Component, ephemeral: bool) -> None:
        self.component = component
        self.masker = Masker()
        self.secrets: frozenset[str] = frozenset()
        self._lender = lender
        self._kind = KINDS[component.provider.kind] if component.provider else KINDS["generic"]
        self._taken: list[Taken] = []
        try:
            for purpose, asked in _questions(component):
                self._taken.append(Taken(purpose, asked, *lender.take(asked, component.id)))
                _refuse_leased(self._taken[-1], component, ephemeral)
            self._build()
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"Loan({self.component.id}, {len(self.secrets)} secrets)"

    def __enter__(self) -> Loan:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def environment(self) -> dict[str, str]:
        """The variables for a process that starts now."""
        for taken in self._taken:
            if self._lender.ends_soon(taken.held):
                ending = taken.held
                taken.fetched, taken.held = self._lender.take(taken.asked, self.component.id)
                if ending is not None and ending is not taken.held:
                    self._lender.give_back(ending)
        return self._build()

    @property
    def backend(self) -> dict[str, str]:
        """What the backend's own sources serve, by the names that they have there: for whoever reads its states."""
        return self._merged("backend")

    def served(self) -> list[Served]:
        """Which source serves what, and for how long."""
        return [
            Served(
                purpose=taken.purpose,
                source=place(taken.asked),
                path=taken.asked.path,
                variables=tuple(sorted(self._variables(taken))),
                lease=taken.held.lease.id if taken.held else "",
                seconds_left=self._lender.seconds_left(taken.held) if taken.held else None,
            )
            for taken in self._taken
        ]

    def close(self) -> None:
        for taken in self._taken:
            if taken.held is not None:
                self._lender.give_back(taken.held)
        self._taken.clear()

    def _build(self) -> dict[str, str]:
        provider = self._merged("provider")
        if any(taken.purpose == "provider" for taken in self._taken):
            _refuse_partial(self._kind, provider, self.component, [t.asked for t in self._taken])
        values = self._merged("backend")
        backend = backends.environment(self.component.backend.type, values, self.component.name) if values else {}
        _refuse_shared_names(provider, backend, self.component)
        variables = self._secret_variables()
        public = self._kind.variables - self._kind.secret
        known_secrets = [value for name, value in provider.items() if name not in public]
        known_secrets += backends.secrets(values)
        self.secrets = self.secrets.union(known_secrets, variables.values())
        self.masker.add(self.secrets)
        self._lender.masker.add(self.secrets)
        return {**provider, **backend, **variables}

    def _merged(self, purpose: str) -> dict[str, str]:
        merged: dict[str, str] = {}
        for taken in self._taken:
            if taken.purpose == purpose:
                merged |= self._variables(taken)
        return merged

    def _secret_variables(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for taken in self._taken:
            if taken.purpose not in ("provider", "backend"):
                found |= self._variables(taken)
        return found

    def _variables(self, taken: Taken) -> dict[str, str]:
        if taken.purpose == "provider":
            return _sound(choose(taken.fetched, taken.asked, self._kind.variables), taken.asked)
        if taken.purpose == "backend":
            known = backends.NAMES.get(self.component.backend.type, frozenset())
            return _sound(choose(taken.fetched, taken.asked, known), taken.asked)
        name = taken.purpose.removeprefix("variable ")
        value = text(only_value(taken.fetched, taken.asked, name))
        return _sound({VARIABLE_PREFIX + name: value}, taken.asked)


def _questions(component: Component) -> Iterator[tuple[str, CredentialSource]]:
    if component.provider:
        for asked in component.provider.credentials:
            yield "provider", asked
    for asked in component.backend.credentials:
        yield "backend", asked
    for name, asked in component.secret_variables.items():
        yield f"variable {name}", asked


def _refuse_leased(taken: Taken, component: Component, ephemeral: bool) -> None:
    if taken.fetched.lease is None or not taken.purpose.startswith("variable ") or ephemeral:
        return
    raise CredentialError(
        f"The secret {taken.purpose} of component {component.name} is leased",
        f"{place(taken.asked)} leases it, and a saved plan would carry the old value when it is applied; "
        "only an ephemeral variable doesn't, and this terraform has none",
        "use Terraform 1.10 or OpenTofu 1.11 at least, or a source that doesn't lease",
        component=component.name,
    )


def _refuse_partial(
    kind: Kind, have: dict[str, str], component: Component, asked: Iterable[CredentialSource]
) -> None:
    missing = sorted(kind.missing(frozenset(name for name, value in have.items() if value)))
    if not missing:
        return
    first = next(iter(asked))
    places = ", ".join(f"{place(source)} at {source.path}" for source in asked)
    begun = "Partial" if kind.variables.intersection(have) else "No"
    raise CredentialError(
        f"{begun} credentials for {kind.name} in component {component.name}: missing {', '.join(missing)}",
        f"asked: {places}; served: {', '.join(sorted(have)) or 'nothing'}",
        f"add it there, and name its field at {first.path}:map: {{{missing[0]}: FIELD}}",
        component=component.name,
        missing=missing,
    )


def _refuse_shared_names(provider: dict[str, str], backend: dict[str, str], component: Component) -> None:
    for name in provider.keys() & backend.keys():
        if provider[name] != backend[name]:
            raise CredentialError(
                f"Provider and backend of component {component.name} both need {name}",
                f"one process has one {name}, and the two sources give different values for it",
                f"use another way to authenticate the {component.backend.type} backend, or the same value",
                component=component.name,
            )


def _sound(variables: dict[str, str], asked: CredentialSource) -> dict[str, str]:
    for name, value in variables.items():
        if "\0" in value:
            raise CredentialError(
                f"The value for {name} can't be put into an environment",
                f"{place(asked)} gives one with a NUL character in it",
                "store it as text, such as base64",
            )
    return variables
