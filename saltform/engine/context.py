"""An environment opened for one operation: its pillar read and checked, modules included, and its records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltform.config import Component, Environment, Infrastructure, load, nearest, select
from saltform.config.component import MINION_VARIABLES
from saltform.config.promotion import Release
from saltform.engine.services import Services
from saltform.engine.states import BackendStates
from saltform.errors import ModuleError, Problem, StateError
from saltform.graph import Graph
from saltform.runlog import ComponentRecord
from saltform.sources.promoted import PromotedSet, Wanted, promoted_set
from saltform.workspace.fingerprint import private_key
from saltform.workspace.modules import Module, Modules
from saltform.workspace.root import MINIONS, Inputs, Unknown, Value

# Only types: an operation on an environment that is as it should be needs none of them.
if TYPE_CHECKING:
    from saltform.credentials.lender import Lender
    from saltform.engine.released import Released
    from saltform.policy import Judge
    from saltform.runlog.approvals import Decision, Request
    from saltform.terraform.mirror import CliConfig


class EnvironmentContext:
    """One environment, ready to be worked on."""

    def __init__(
        self,
        services: Services,
        name: str | None,
        modules: Mapping[str, tuple[str, str]] | None = None,
        promoted: Wanted | None = None,
        look_at_files: bool = True,
    ) -> None:
        """`modules` are references with the content that they stood for when a run began that goes on now.

        `promoted` are the releases of an environment with `promoted_from:`, instead of those on record.
        Who goes back doesn't look at the module files: they may be what is wrong.
        """
        self.services = services
        self.wait = 0.0  # seconds that a step waits for its component's lock
        self.undoing = False  # a rollback: needs no approval, only a policy's `deny` stops it
        self.earlier: dict[str, tuple[str, str, str]] = {}  # of a run that goes on: host, begin, end of a step
        self.hosts_before: dict[str, dict[str, str]] = {}  # of a run that goes on: minion → instance when it began
        self.noted: list[str] = []  # what came up on the way and belongs into the run's notes
        self.requests: dict[str, Request] = {}  # of a run that goes on: what awaits approval, and what was said
        self.decisions: list[Decision] = []
        self.releases: dict[str, Released] = {}  # the components that are as a release says
        self.modules = self.modules_of(services)
        self.modules.pin(modules or {})
        self.promoted = PromotedSet()
        self._made_of: Mapping[str, Release] = {}
        self.infrastructure: Infrastructure = load(
            services.pillar,
            name or "",
            inspect=self._check_modules if look_at_files else lambda _: (),
            has_orphans=lambda environment: bool(services.runlog.components(environment)),
            promoted=lambda environment, source, pins: self._releases(environment, source, pins, promoted),
        )
        self.environment: Environment = self.infrastructure.environment(name or "")
        if self._made_of:
            self._take_releases()
        self.states = BackendStates(self)

    def _take_releases(self) -> None:
        from saltform.engine.released import Released

        for component, release in self._made_of.items():
            self.releases[component] = Released(self.environment.components[component], release.content)

    @staticmethod
    def modules_of(services: Services) -> Modules:
        def fetch_git(reference: str) -> Path:
            from saltform.workspace.git import GitModules

            return GitModules(services.layout.cache / "git", services.processes).fetch(reference)

        return Modules(services.layout.modules, services.settings.modules, services.fetch_salt, fetch_git)

    @property
    def name(self) -> str:
        return self.environment.name

    @cached_property
    def graph(self) -> Graph:
        return Graph({name: component.needs for name, component in self.environment.components.items()})

    @cached_property
    def records(self) -> dict[str, ComponentRecord]:
        """Where each component stood when the operation began."""
        return self.services.runlog.components(self.name)

    @cached_property
    def orphans(self) -> dict[str, Component]:
        """Components that left the pillar and still have a record: as their last release says."""
        renamed = {component.renamed_from for component in self.environment.components.values()}
        return {
            name: self.as_released(name, record.release, record.binary_path)
            for name, record in self.records.items()
            if name not in self.environment.components and name not in renamed
        }

    @property
    def everything(self) -> list[str]:
        """The components of pillar, and those that left it and are still there."""
        return [*self.environment.components, *self.orphans]

    @cached_property
    def cli_config(self) -> CliConfig:
        from saltform.terraform.mirror import prepare

        return prepare(self.services.settings, self.services.layout.cache)

    @cached_property
    def digest_key(self) -> bytes:
        return private_key(self.services.layout.key)

    @cached_property
    def judge(self) -> Judge:
        from saltform.policy import Judge  # only when there is a plan to judge

        return Judge(self.environment.policies, self.services.fetch_salt)

    @cached_property
    def lender(self) -> Lender:
        """Made when the first credential is asked for: many questions need none."""
        from saltform.engine.lending import make_lender

        return make_lender(self.services, self.infrastructure, self.digest_key)

    def masked(self, text: str) -> str:
        """A text without any secret that was lent in this run."""
        lender: Lender | None = self.__dict__.get("lender")
        return lender.masker.line(text) if lender is not None else text

    def note(self, text: str) -> None:
        """Into the notes of the run, once, however many components it came up in."""
        if text not in self.noted:
            self.noted.append(text)

    def close(self) -> None:
        """Give every lease back."""
        self.states.close()
        lender = self.__dict__.pop("lender", None)
        if lender is not None:
            lender.close()

    def __enter__(self) -> EnvironmentContext:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def invalidate(self, name: str) -> None:
        """Where one component stands at this moment: another run may have been at it since the operation began."""
        record = self.services.runlog.component(self.name, name)
        if record is not None:
            self.records[name] = record
        else:
            self.records.pop(name, None)

    def forget_records(self) -> None:
        """The records were changed: read them again."""
        self.__dict__.pop("records", None)
        self.__dict__.pop("orphans", None)

    def as_released(self, name: str, digest: str, binary: str) -> Component:
        """From now on the component is what that release says, not what pillar says."""
        from saltform.engine.released import released

        self.releases[name] = released(self, name, digest, binary)
        return self.releases[name].component

    def component(self, name: str) -> Component:
        if name in self.releases:
            return self.releases[name].component
        found = self.environment.components.get(name) or self.orphans.get(name)
        if found is None:  # by its old name, before a rename
            found = next((item for item in self.environment.components.values() if item.renamed_from == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def module(self, component: Component) -> Module:
        made_of = self.releases.get(component.name) or self._made_of.get(component.name)
        if made_of is None:
            return self.modules.resolve(component.module)
        kept = made_of.content["module"]
        return self.modules.kept(kept["digest"], kept["entry"])

    def select(self, wanted: str | list[str] | None) -> list[str]:
        return select(wanted, self.environment.components)

    def stored_as(self, name: str) -> str:
        """The name that a component's record and state are under: its old one, until a run has moved them."""
        component = self.environment.components.get(name)
        old = component.renamed_from if component else ""
        return old if old in self.records and name not in self.records else name

    def outputs(self, name: str) -> Mapping[str, Any]:
        """A component's outputs as its state has them; nothing when it has never been applied."""
        return self.states.outputs(self.name, name)

    def resources(self, name: str) -> list[str]:
        """The addresses of what a component has made."""
        state = self.states.read(self.name, self.stored_as(name))
        return state.managed if state else []

    def inputs(self, component: Component, unknown: Iterable[tuple[str, str]] = ()) -> Inputs:
        """The component's inputs, from the states of what it needs. `unknown` are (component, output) pairs."""
        not_known = set(unknown)
        values: dict[str, Value | Unknown] = {}
        for item in component.inputs:
            have = self.outputs(item.component)
            if (item.component, item.output) in not_known or item.output not in have:
                values[item.variable] = Unknown(item.component)
            else:
                output = have[item.output]
                values[item.variable] = Value(output.value, output.sensitive)
        return values

    def known_inputs(self, component: Component) -> Inputs:
        """The inputs when all of them must be there: for an apply."""
        inputs = self.inputs(component)
        for item in component.inputs:
            if isinstance(inputs[item.variable], Unknown):
                raise StateError(
                    f"{component.name} can't have its input {item.variable!r} yet",
                    f"the state of {item.component} has no output {item.output!r}",
                    f"salt-run infrastructure.deploy {self.name} components={item.component}",
                )
        return inputs

    def _releases(
        self, environment: str, source: str, pins: Mapping[str, str], given: Wanted | None
    ) -> Mapping[str, Release]:
        """What the components of an environment with `promoted_from:` are made of."""
        if given is None:
            self.promoted = promoted_set(self.services.runlog, environment, source, pins)
        else:
            self.promoted = PromotedSet(self.services.runlog.releases.promoted(environment), dict(given))
        self._made_of = self.promoted.releases(self.services.runlog, environment)
        return self._made_of

    def _check_modules(self, environment: Environment) -> Iterator[Problem]:
        """What only the modules' own files can tell: missing modules, variables and outputs."""
        faces = {}
        for name, component in environment.components.items():
            if component.module:
                try:
                    faces[name] = self.module(component).interface
                except ModuleError as error:
                    why = f"{error.summary}: {error.detail}; {error.fix}"
                    yield Problem(f"{component.path}:module", repr(component.module), f"a module ({why})")
        for name, face in faces.items():
            component = environment.components[name]
            yield from _check_variables(component, face.variables)
            for item in component.inputs:
                upstream = faces.get(item.component)
                if upstream is not None and item.output not in upstream.outputs:
                    yield Problem(
                        f"{component.path}:inputs:{item.variable}",
                        str(item),
                        f"an output of module {environment.components[item.component].module!r}",
                        nearest(item.output, upstream.outputs),
                    )
            wanted = [("outputs", output) for output in component.output_targets]
            wanted += [("minions", MINIONS)] if component.minions else []
            for place, output in wanted:
                if output not in face.outputs:
                    yield Problem(
                        f"{component.path}:{place}:{output}",
                        repr(output),
                        f"an output of module {component.module!r}",
                        nearest(output, face.outputs),
                    )
        known = {variable for face in faces.values() for variable in face.variables}
        for excluded in environment.promote.exclude:
            if faces and excluded not in known:
                where = f"infrastructure:environments:{environment.name}:promote:exclude"
                yield Problem(where, repr(excluded), "a variable of one of its modules", nearest(excluded, known))


def _check_variables(component: Component, variables: Mapping[str, Any]) -> Iterator[Problem]:
    given = [("variables", name) for name in component.variables]
    given += [("inputs", item.variable) for item in component.inputs]
    given += [("secret_variables", name) for name in component.secret_variables]
    given += [("minions", name) for name in MINION_VARIABLES if component.minions]
    for place, name in given:
        if name not in variables:
            yield Problem(
                f"{component.path}:{place}:{name}",
                repr(name),
                f"a variable of module {component.module!r}",
                nearest(name, variables),
            )
    for name in component.origin.excluded if component.origin else ():
        if name not in variables:
            where = f"{component.path}:promote:exclude"
            yield Problem(where, repr(name), f"a variable of module {component.module!r}", nearest(name, variables))
    named = {name for _, name in given}
    for name, variable in variables.items():
        if variable.required and name not in named:
            yield Problem(
                f"{component.path}:variables:{name}",
                "nothing",
                f"a value: module {component.module!r} requires it",
            )
