"""One component at work: locked, rendered, initialised, planned and applied, and on record.

1. What a run finds unchanged at its beginning (`Known.unchanged`) never gets here.
2. `at_work` takes the component's lock and lends it its credentials; everything that starts terraform is inside.
3. `prepare` renders the workspace and runs `init` only if what `init` depends on has changed. Components of one
   kind share the result of one `init`.
4. Before anything is applied or destroyed, and after it, `record_…` says so: what died in between is half done.
"""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TextIO

from saltform.config import Component
from saltform.config.backends import block, encode
from saltform.config.kinds import KINDS
from saltform.credentials.lender import takes_ephemeral
from saltform.engine.context import EnvironmentContext
from saltform.engine.resolved import ResolvedComponent
from saltform.events import throttled_tag
from saltform.files import cannot_write, make_folder, sync_folder, write_atomic
from saltform.layout import STATE_FILE
from saltform.limits import RECOVERY, Gate, Pace
from saltform.plan.values import texts
from saltform.process import clean_environment
from saltform.runlog import ComponentRecord, StepRecord, now
from saltform.runlog.locks import LockLease, Patience
from saltform.runlog.releases import Promoted
from saltform.status import Status
from saltform.terraform import init
from saltform.terraform.binary import REGISTRIES
from saltform.terraform.session import Session, may_start
from saltform.tfstate import Head
from saltform.tfstate.versions import keep_version
from saltform.workspace import root as roots
from saltform.workspace.fingerprint import digest
from saltform.workspace.folder import FETCHED, Workspace, init_fingerprint
from saltform.workspace.initialised import once_for_all
from saltform.workspace.root import Inputs

# What everything that a component makes says of itself, where the provider has tags: whose it is, and who began it.
TAGS = ("saltform:environment", "saltform:component", "saltform:run")


class ComponentWork(ResolvedComponent):
    """A component that is worked on."""

    def __init__(self, context: EnvironmentContext, component: Component, inputs: Inputs, step: StepRecord) -> None:
        super().__init__(context, component, inputs)
        self.step = step
        self.kept_tokens: Mapping[str, str] = {}  # those that an approved plan promised
        self._held: LockLease | None = None

    @cached_property
    def tokens(self) -> dict[str, str]:
        """A one-time token for each of its minions: what an instance gets that is created now.

        New for every plan, except that one which was approved and is made again promises the same as before.
        """
        return {
            minion: self.kept_tokens.get(minion) or secrets.token_urlsafe(32) for minion in self.component.minions
        }

    @contextlib.contextmanager
    def locked(self) -> Iterator[LockLease]:
        """The component's lock held: one run at a time. What others did to it until now is seen from here on."""
        services = self.services
        patience = Patience(self.context.wait, services.cancel, self.tell)
        with services.locks.hold(*self._where, services.run_id, services.author, patience) as held:
            if held.taken_over:
                self.context.note(f"{self.component.name}: took its lock over from {held.taken_over}, which died")
            self.context.invalidate(self.component.name)
            if held.waited:
                self._invalidate()
            self._held = held
            try:
                yield held
            finally:
                self._held = None

    @property
    def waited(self) -> bool:
        """Whether another run was at work on it before this one had its lock."""
        return self._held is not None and self._held.waited

    @property
    def left_by_the_dead(self) -> Mapping[str, Any] | None:
        """Who held the lock before us and died with it."""
        return self._held.left if self._held is not None else None

    @property
    def locked_since(self) -> str:
        """Since when the component is ours alone."""
        return self._held.since if self._held is not None else ""

    def _invalidate(self) -> None:
        """Another run was at it: what it is made of may have changed."""
        self.__dict__.pop("binary", None)
        self.__dict__.pop("module", None)
        known = {
            name: item for name, item in self.context.inputs(self.component).items() if isinstance(item, roots.Value)
        }
        self.inputs = {**self.inputs, **known}
        self._read_provider_lock()

    @contextlib.contextmanager
    def at_work(self, lock: bool = True) -> Iterator[Session]:
        """The component's lock held, its credentials lent, its log open."""
        with contextlib.ExitStack() as stack:
            descriptors = stack.enter_context(self.locked()).descriptors if lock else ()
            yield stack.enter_context(self.equipped(descriptors))

    @contextlib.contextmanager
    def equipped(self, descriptors: tuple[int, ...]) -> Iterator[Session]:
        """Its credentials lent, its log open; processes inherit the descriptors (of a lock)."""
        with contextlib.ExitStack() as stack:
            ephemeral = takes_ephemeral(self.binary.product, self.binary.version)
            self._loan = stack.enter_context(self.context.lender.lend(self.component, ephemeral=ephemeral))
            self._loan.masker.add(self._sensitive_inputs().union(self.tokens.values()))
            log = stack.enter_context(self._open_log())
            yield self._session(log, descriptors)

    def renewed(self, session: Session) -> Session:
        """The session for the apply, which starts later: a lease that is about to end is fetched anew.

        The plan holds the tokens that it was made with: tofu refuses an apply that is given others.
        """
        return dataclasses.replace(session, env=self._environment(session.workspace, tokens={}))

    def prepare(self, session: Session, upgrade: bool = False, states: Path | None = None) -> None:
        """Render the workspace, and initialise it if what `init` depends on has changed.

        `states` is where the state is when that isn't its own place (yet).
        """
        if upgrade:
            self.module = self._resolved  # without what was fetched for it before
        born = self.record.born if self.record else self.services.run_id
        tags = dict(zip(TAGS, (self.component.environment, self.component.name, born), strict=True))
        leased = self.context.lender.leased_variables(self.component)
        backend = block(self.component.backend, self.binary.version)
        root = roots.build(
            self.component, self.module, self.inputs, tags, leased, backend, REGISTRIES[self.binary.product]
        )
        workspace = Workspace(session.workspace, states or self._layout.states(*self._where))
        workspace.render(roots.encode(root), self.module, b"" if upgrade else self.provider_lock)
        self._init(session, workspace, roots.encode(root["terraform"]), upgrade)
        self._keep_provider_lock(workspace.provider_lock(), write=session.pass_fds != ())

    def record_before_apply(self, head: Head | None) -> None:
        """On record before it happens: whatever becomes of this process, the component is known and not unchanged.

        `head` is of the state that the apply begins on. Where there is none, terraform makes a new lineage.
        """
        self._record("", self.record.serial if self.record else 0, head.lineage if head else "")

    def record_before_destroy(self, head: Head | None) -> None:
        """The same, but what is there stays a part of the release that made it, whatever pillar says now."""
        if self.record is None:
            self.record_before_apply(head)
            return
        self.step.release = self.record.release
        release, binary = self._previous()
        half_done = dataclasses.replace(
            self.record,
            fingerprint="",
            lineage=head.lineage if head else "",
            run=self.services.run_id,
            previous_release=release,
            previous_binary=binary,
        )
        self.keep_record(half_done)

    def keep_state_version(self) -> None:
        """The state as it was before this apply, for whoever has to look back; a server's own versions, if any."""
        if self.component.backend.type == "local":
            keep_version(self._layout.states(*self._where) / STATE_FILE)
        else:
            self.context.states.note_versions(*self._where)

    def record_applied(self) -> None:
        """After a good apply: from here on the same fingerprint and serial mean unchanged."""
        self.context.states.invalidate(*self._where)
        head = self.head
        if head is not None:
            if self.component.backend.type == "local":
                sync_folder(self._layout.states(*self._where))  # terraform syncs the state, but not its name
            self._record(self.fingerprint, head.serial, head.lineage)

    def record_destroyed(self) -> None:
        self.services.runlog.forget_component(*self._where, self._number)
        self._lock_path.unlink(missing_ok=True)
        shutil.rmtree(self._layout.workspace(*self._where), ignore_errors=True)

    def keep_record(self, record: ComponentRecord) -> None:
        """Refused when the lock is no longer ours."""
        self.services.runlog.keep_component(record, self._number)

    @property
    def _number(self) -> int | None:
        return None if self._held is None else self._held.number

    def tell(self, note: str) -> None:
        """What is being done right now, for whoever watches."""
        if self.services.progress is not None:
            self.services.progress.step(self.component.name, Status.RUNNING, note)

    @property
    def gate(self) -> Gate | None:
        """The provider's, which all runs of this master share."""
        provider = self.component.provider
        return Gate(self._layout.limits(provider.name), provider.name, provider.limits) if provider else None

    def workspace_path(self, preview: bool = False) -> Path:
        """The component's folder; a preview's own one, since what is rendered there must never be applied."""
        # A component's name has no dot, so the two never meet.
        name = f"{self.component.name}.{self.services.run_id}" if preview else self.component.name
        return self._layout.workspace(self.component.environment, name)

    # --- inside ---------------------------------------------------------------------------------------------

    def _environment(self, workspace: Path, tokens: Mapping[str, str]) -> dict[str, str]:
        provider = self.component.provider
        known = KINDS[provider.kind].environment(provider) if provider else {}
        lent = {**self._loan.environment, **roots.sensitive_environment(self.inputs)}
        lent |= roots.token_environment(tokens)
        return clean_environment(workspace / ".home", self.context.cli_config.path, lent, known)

    def _slowed(self, pace: Pace) -> None:
        """Everybody who watches learns that the provider is asked less from now on."""
        assert self.component.provider is not None  # noqa: S101 (whose gate else?)
        name = self.component.provider.name
        note = f"{name} throttles: {pace} from now on, growing back over {RECOVERY / 60:.0f} minutes"
        self.tell(note)
        self.context.note(note)
        said = {"provider": name, "run": self.services.run_id, "component": self.component.id, **vars(pace)}
        self.services.events.fire(throttled_tag(name), said)

    def _session(self, log: TextIO, descriptors: tuple[int, ...]) -> Session:
        path = make_folder(self.workspace_path(preview=not descriptors))
        return Session(
            binary=self.binary,
            workspace=path,
            env=self._environment(path, self.tokens),
            processes=self.services.processes,
            log=lambda line: print(line, file=log),
            cancel=self.services.cancel,
            component=self.component.id,
            timeouts=self.component.timeouts,
            mask=self._loan.masker.line,
            find_lines=self._loan.masker.find_lines,
            pass_fds=descriptors,
            gate=self.gate,
            tell=self.tell,
            slowed=self._slowed,
            lease=self._held.lease if self._held is not None else None,
            check=self._held.check if self._held is not None else may_start,
        )

    @contextlib.contextmanager
    def _open_log(self) -> Iterator[TextIO]:
        folder = make_folder(self._layout.run(self.services.run_id) / "logs")
        path = folder / f"{self.component.name}.log"
        self.step.log = str(path)
        try:
            log = path.open("a", buffering=1, encoding="utf-8", errors="replace")
            path.chmod(0o600)
        except OSError as error:
            raise cannot_write(path, error) from None
        with log:
            yield log

    def _sensitive_inputs(self) -> frozenset[str]:
        """What to mask of the inputs: every text in them."""
        found = (item.value for item in self.inputs.values() if isinstance(item, roots.Value) and item.sensitive)
        return frozenset(text for value in found for text in texts(value, marks=True))

    def _init(self, session: Session, workspace: Workspace, root_parts: bytes, upgrade: bool) -> None:
        if not self.module.unkept:
            self._initialise(session, workspace, root_parts, upgrade)
            return
        remote = self._remote_modules()
        with remote.alone():
            if not upgrade:
                self.module = remote.kept()  # somebody may have been faster
            self._initialise(session, workspace, root_parts, upgrade)
            if self.module.unkept:
                only_asked = upgrade and not session.pass_fds  # what an upgrade would bring changes nothing yet
                self.module = remote.keep(workspace.path / FETCHED, for_all=not only_asked)
                self._share_init(workspace, root_parts, lambda: None, upgrade)

    def _initialise(self, session: Session, workspace: Workspace, root_parts: bytes, upgrade: bool) -> None:
        if not upgrade and workspace.initialised_for(self._init_fingerprint(root_parts, self.provider_lock)):
            return
        workspace.forget_init()

        def work() -> None:
            self.tell("initialising")
            remote = self.module.remote
            if remote is not None:
                workspace.lay_out_modules(remote)
            cache = self.context.cli_config.plugin_cache
            init.run(session, upgrade=upgrade, plugin_cache=cache, fetch=remote is None)

        self._share_init(workspace, root_parts, work, upgrade)

    def _share_init(self, workspace: Workspace, root_parts: bytes, work: Callable[[], None], upgrade: bool) -> None:
        shared = self._layout.cache / "init" / self._init_fingerprint(root_parts, self.provider_lock)
        alike = self.component.backend.type == "local"  # on a server, `init` is told which state, too
        once_for_all(shared, workspace.path, work, share=alike and not upgrade)
        workspace.mark_initialised(self._init_fingerprint(root_parts, workspace.provider_lock()))

    def _init_fingerprint(self, root_parts: bytes, lock: bytes) -> str:
        binary = f"{self.binary.product} {self.binary.version}"
        return init_fingerprint(root_parts, self.module, lock, binary, self.context.cli_config.path.read_bytes())

    def _keep_provider_lock(self, content: bytes, write: bool) -> None:
        if write and content and content != self._lock_on_disk:
            write_atomic(self._lock_path, content)
        self.provider_lock = content

    def _record(self, mark: str, serial: int, lineage: str) -> None:
        made_of = self.release
        name = digest(made_of)
        self.step.release, self.step.fingerprint, self.step.serial = name, mark, serial
        self.step.binary_path = self.binary_pin
        previous_release, previous_binary = self._previous()
        self.services.runlog.keep_release(name, made_of, self.services.run_id)
        self.keep_record(
            ComponentRecord(
                environment=self.component.environment,
                component=self.component.name,
                release=name,
                fingerprint=mark,
                lineage=lineage,
                serial=serial,
                run=self.services.run_id,
                born=self.record.born if self.record else self.services.run_id,
                applied=now(),
                binary_path=self.binary_pin,
                previous_release=previous_release,
                previous_binary=previous_binary,
                backend=encode(self.component.backend),
            )
        )
        if self.component.origin is not None:
            self._record_promoted(self.component.origin.release)

    def _record_promoted(self, release: str) -> None:
        """From here on a deploy means this release, whether it was promoted, pinned or gone back to."""
        log, on_record = self.services.runlog.releases, self.context.promoted.on_record
        known = on_record.get(self.component.name)
        if known is None or known.release != release:
            binary = log.binary_of(release) or self.binary_pin
            record = Promoted(*self._where, release, binary, self.services.run_id, now())
            log.keep_promoted(record)
            on_record[self.component.name] = record

    def _previous(self) -> tuple[str, str]:
        """What a rollback of this run goes back to: the last good release from before it, however often it tried."""
        record = self.record
        if record is None:
            return "", ""
        if record.fingerprint and record.run != self.services.run_id:
            return record.release, record.binary_path
        return record.previous_release, record.previous_binary
