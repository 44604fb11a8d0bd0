"""What pillar says, as frozen objects. Everything after `config` works on these and never on raw pillar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from saltform.config.approval import Approval
from saltform.config.policies import Policies

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ReleasesFile:
    """A file of a git pillar repository on this host that says what is promoted."""

    repository: Path
    branch: str
    file: str


@dataclass(frozen=True, slots=True)
class Settings:
    """Facts of this host, from the `saltform:` block of the master's or minion's configuration."""

    state_dir: Path
    modules: tuple[Path, ...] = ()
    mirror: str = "auto"  # auto | registry | a folder | a https:// URL
    pillar_id: str = ""
    pillarenv: str = "base"  # whose pillar decides who sees an output, whatever a minion asks for
    releases: ReleasesFile | None = None
    keys: str = "tokens"  # tokens | manual: a person accepts the keys of new minions


@dataclass(frozen=True, slots=True)
class CredentialSource:
    """One place to ask for credentials: `kind` is vault, pillar, environment, file or command."""

    kind: str
    options: Mapping[str, Any] = field(default_factory=lambda: NOTHING, repr=False)
    path: str = ""  # where in pillar it stands, for messages


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a provider all runs of a master use together; 0: no limit."""

    processes: int = 0
    starts_per_minute: int = 0
    parallelism: int = 0  # of each process: terraform's own word; 0: its own number
    retries_per_minute: int = 20


@dataclass(frozen=True, slots=True)
class Provider:
    """A target and how to reach it."""

    name: str
    kind: str
    source: str = ""
    version: str = ""
    endpoint: str = ""
    region: str = ""
    ca: str = ""
    settings: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    credentials: tuple[CredentialSource, ...] = ()
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True)
class Backend:
    """Where a component's state lives."""

    type: str = "local"
    settings: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    credentials: tuple[CredentialSource, ...] = ()


@dataclass(frozen=True, slots=True)
class Input:
    """A variable that takes its value from another component's output: `variable: "@component.output"`."""

    variable: str
    component: str
    output: str

    def __str__(self) -> str:
        return f"@{self.component}.{self.output}"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds that a command may take before it is interrupted."""

    init: float = 300.0
    plan: float = 900.0
    apply: float = 3600.0
    quick: float = 120.0  # what asks no provider: show, validate, version, state …
    extended: float = 7200.0  # an apply that deletes or replaces something; never less than `apply`


@dataclass(frozen=True, slots=True)
class Retry:
    """How often, and after which waits in seconds, what may pass by itself is tried again."""

    attempts: int = 3  # in all: 1 never tries again
    wait: float = 2.0  # before the second; doubled before each other
    longest: float = 60.0


@dataclass(frozen=True, slots=True)
class Origin:
    """The promoted release that a component is made of, and which of its variables did not come with it."""

    release: str
    own: tuple[str, ...] = ()  # the environment's pillar sets them
    exempt: tuple[str, ...] = ()  # excluded, here or for all: the environment's own, or the module's default
    excluded: tuple[str, ...] = ()  # excluded here


@dataclass(frozen=True, slots=True)
class Promote:
    """What has to be so before something is promoted to an environment, and what never is."""

    soak: float = 0.0  # seconds that a release must have been there before
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Health:
    """What minions must answer for their environment to be well: every one of them something true."""

    function: str
    arguments: tuple[str, ...]
    targets: str | tuple[str, ...]
    timeout: float = 60.0


@dataclass(frozen=True, slots=True)
class Converge:
    """What has to be true of the minions before anything that needs the component starts."""

    target: str | tuple[str, ...]  # a compound expression, or minion ids
    expect: int  # how many minions have to be there, at least
    highstate: bool = False
    health: str = ""  # an execution function that returns True
    timeout: float = 600.0


@dataclass(frozen=True, slots=True)
class Component:
    """One Terraform root with its own state."""

    environment: str
    name: str
    module: str
    provider: Provider | None = None
    variables: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    secret_variables: Mapping[str, CredentialSource] = field(default_factory=lambda: NOTHING)
    inputs: tuple[Input, ...] = ()
    needs: tuple[str, ...] = ()  # resolved: every component this one waits for, inputs' included, '*' spelt out
    stateful: bool = False
    backend: Backend = Backend()
    binary: str = "auto"
    version: str = ""
    timeouts: Timeouts = Timeouts()
    retry: Retry = Retry()
    renamed_from: str = ""
    adopt: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    targets: str | tuple[str, ...] = ""
    output_targets: Mapping[str, str | tuple[str, ...]] = field(default_factory=lambda: NOTHING)
    minions: tuple[str, ...] = ()  # the ids of the minions on its instances
    converge: Converge | None = None
    ignore_drift: tuple[str, ...] = ()  # the environment's rules, then its own
    origin: Origin | None = None
    path: str = ""  # where in pillar it stands, for messages

    @property
    def id(self) -> str:
        return f"{self.environment}/{self.name}"

    @property
    def has_minions(self) -> bool:
        """It makes minions, or waits for some."""
        return bool(self.minions) or self.converge is not None

    def waiting_for(self, needs: tuple[str, ...]) -> Component:
        return replace(self, needs=needs)


@dataclass(frozen=True, slots=True)
class Environment:
    """A named set of components."""

    name: str
    components: Mapping[str, Component]
    on_error: str = "stop"
    parallelism: int = 4
    policies: Policies = Policies()
    promoted_from: str = ""
    promote: Promote = Promote()
    health: Health | None = None
    requests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # minion id → verbs that it may ask for
    approval: Approval = Approval()
    approvals: Mapping[str, Approval] = field(default_factory=dict)  # of the components that say something themselves

    def approval_of(self, component: str) -> Approval:
        """Of one that left the pillar too: then the environment's."""
        return self.approvals.get(component, self.approval)
