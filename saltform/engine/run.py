"""A run: begun, pumped through its schedule, and ended, with every step on record before and after it happens."""

from __future__ import annotations

import contextlib
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from saltform.engine import audit
from saltform.engine.context import EnvironmentContext
from saltform.engine.options import Options
from saltform.engine.result import result, step_entry
from saltform.engine.snapshot import RESUMABLE, forget_kept_plans, forget_snapshot, keep_snapshot
from saltform.errors import (
    EXIT_CANCELLED,
    EXIT_CHANGES,
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_LOCKED,
    EXIT_WAITING,
    Cancelled,
    Locked,
    LostLock,
    NoRoom,
    RunLogError,
    SaltformError,
)
from saltform.events import approval_tag, step_tag, unchanged_tag
from saltform.files import cannot_write, make_folder, write_atomic
from saltform.graph import Graph
from saltform.report import words
from saltform.runlog import RunRecord, StepRecord
from saltform.schedule import Schedule
from saltform.status import Status
from saltform.workers import CANCEL, cancelling, pump, watching

_STATUS = {EXIT_CANCELLED: "cancelled", EXIT_DONE: "done", EXIT_CHANGES: "done", EXIT_WAITING: "waiting"}
DONE = (Status.APPLIED, Status.UNCHANGED, Status.DESTROYED, Status.ROLLED_BACK)
PreviewDependents = Callable[[str, StepRecord], None]  # looks at one component that can't start yet
NOTHING_NEW = (RunLogError, LostLock, NoRoom)  # after one of these nothing new starts, whatever `on_error` says
Work = Callable[[str, StepRecord], Status]  # does one component; fills the record in; raises SaltformError


@dataclass
class Run:
    """One operation over an environment, while it runs."""

    context: EnvironmentContext
    verb: str
    graph: Graph
    options: Mapping[str, Any]
    on_error: str
    parallelism: int
    notes: list[str] = field(default_factory=list)
    steps: dict[str, StepRecord] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    resumed: RunRecord | None = None  # the record of this very run, when it goes on after it had ended or died
    unchanged: Callable[[], Iterable[str]] = tuple  # those that are known to have nothing to do before any starts
    preview_dependents: Callable[[], PreviewDependents] | None = (
        None  # what is to come of those that need one that awaits approval
    )
    trouble: str = ""  # why the run failed, although no step did
    _let_go: dict[str, Callable[[], None]] = field(default_factory=dict)  # component → gives its slot away
    off_record: bool = False  # a step could not be put on record, so nobody can say that the run went well
    stopped_by: SaltformError | None = None  # what kept it from going on: the record, the disk, a lost lock
    unrecorded: list[str] = field(default_factory=list)
    _check_run: Callable[[], None] = field(default=lambda: None, repr=False)

    def execute(self, work: Work) -> dict[str, Any]:
        """Do `work` for every component in the graph's order; the verb's return."""
        services = self.context.services
        record = self.resumed or RunRecord(
            id=services.run_id,
            environment=self.context.name,
            verb=self.verb,
            author=services.author,
            options={name: value for name, value in self.options.items() if value != getattr(Options, name, None)},
            graph={name: list(needs) for name, needs in self.graph.needs.items()},
        )
        began = time.monotonic()
        cancel = make_folder(services.layout.run(record.id)) / CANCEL
        with services.locks.hold_run(record.id) as self._check_run:
            self._begin(record)
            if services.progress is not None:
                services.progress.start(f"{self.verb} {self.context.name}", self.graph.order())
            try:
                with cancelling(services.cancel), watching(cancel, services.cancel, lambda: self._beat(cancel)):
                    self._settle(self.unchanged())
                    self._pump(work)
            except SaltformError as error:
                self._stopped_by(error)
            except Exception:
                self.off_record = True
                raise
            finally:
                self._end(record, time.monotonic() - began)
        return result(
            self.verb,
            record.exit_code or EXIT_DONE,
            environment=self.context.name,
            run=record.id,
            summary=record.summary,
            steps={name: step_entry(step, self.seconds.get(name, 0.0)) for name, step in self.steps.items()},
            notes=self.notes,
            **({"error": self.stopped_by.as_dict()} if self.stopped_by is not None else {}),
        )

    def _beat(self, cancel: Path) -> None:
        """Every now and then: say that we are at it, and see whether another master asks us to stop."""
        services = self.context.services
        with contextlib.suppress(SaltformError):  # whoever has to know finds out before the next process
            services.locks.beat(services.run_id)
            asked = services.runlog.asked_to_cancel(services.run_id) if services.runlog.shared else ""
            if asked and not cancel.exists():
                write_atomic(cancel, asked.encode(), durable=False)

    def _stopped_by(self, error: SaltformError) -> None:
        """The record, the disk or a lock is gone: what ran has ended, nothing new started, and that is said."""
        self.off_record, self.stopped_by = True, error
        for name in self.graph.order():
            if name not in self.steps:
                self.steps[name] = StepRecord(name, Status.SKIPPED.value, f"not started: {error.summary}")
        if self.unrecorded:
            listed = ", ".join(f"{name} ({self.steps[name].status})" for name in self.unrecorded)
            self.notes.append(f"not on record: {listed}; resume looks at the states and puts that right")

    def _begin(self, record: RunRecord) -> None:
        """On record before anything happens; a run that goes on leaves alone what it had done."""
        services = self.context.services
        if self.resumed is None:
            if self.verb in RESUMABLE:
                keep_snapshot(self.context)  # first: a run that is on record can always go on
            services.runlog.begin(record)
            return
        (services.layout.run(record.id) / CANCEL).unlink(missing_ok=True)
        done = [step for step in services.runlog.steps(record.id) if Status(step.status) in DONE]
        self.steps.update({step.component: step for step in done})
        record.notes = self.notes
        services.runlog.go_on(record)

    def _settle(self, names: Iterable[str]) -> None:
        """What is unchanged goes on record at once: it costs no thread, lock, commit or event of its own."""
        services = self.context.services
        steps = [StepRecord(name, Status.UNCHANGED.value) for name in names if name not in self.steps]
        if not steps:
            return
        services.runlog.add_steps(services.run_id, steps)
        for step in steps:
            self.steps[step.component] = step
            if services.progress is not None:
                services.progress.step(step.component, Status.UNCHANGED)
        said = {"run": services.run_id, "verb": self.verb, "environment": self.context.name, "count": len(steps)}
        services.events.fire(unchanged_tag(services.run_id), said)

    def _pump(self, work: Work, names: list[str] | None = None) -> None:
        """Do all that is not done yet, or only these."""
        left = [name for name in self.graph.needs if name not in self.steps] if names is None else names
        schedule = Schedule(self.graph.subset(left), self.on_error)

        def one(name: str, let_go: Callable[[], None]) -> tuple[Status, str]:
            self._let_go[name] = let_go
            step = self._do(name, work)
            return Status(step.status), step.reason

        def left_out(names: list[str]) -> None:
            self._add(StepRecord(name, schedule.status(name).value, schedule.reason(name)) for name in names)

        waiting = sum(self.context.component(name).converge is not None for name in left)
        pump(schedule, one, self.parallelism, self.context.services.cancel, left_out, waiting)
        pending = [name for name in left if schedule.status(name) is Status.PENDING]
        if pending:
            self.leave_pending([StepRecord(name, reason=schedule.reason(name)) for name in pending])

    def leave_pending(self, steps: list[StepRecord]) -> None:
        """What needs one that awaits approval: on record, and looked at as far as it can be foreseen."""
        services = self.context.services
        services.runlog.add_steps(services.run_id, steps)
        self.steps.update({step.component: step for step in steps})
        if self.preview_dependents is not None:
            look = self.preview_dependents()

            def one(name: str, _let_go: Callable[[], None]) -> tuple[Status, str]:
                with contextlib.suppress(SaltformError):  # its own step will say what is wrong, once it is its turn
                    look(name, self.steps[name])
                services.runlog.end_step(services.run_id, self.steps[name])
                return Status.DEFERRED, ""

            ahead = Schedule(self.graph.subset([step.component for step in steps]))
            pump(ahead, one, self.parallelism, services.cancel, lambda _: None)
        for step in steps:
            self._tell(step)

    def leave_out(self, names: Iterable[str], reason: str) -> None:
        """These are not started any more."""
        self._add(StepRecord(name, Status.SKIPPED.value, reason) for name in names)

    def _add(self, steps: Iterable[StepRecord]) -> None:
        added = list(steps)
        if added:
            self.context.services.runlog.add_steps(self.context.services.run_id, added)
        for step in added:
            self.steps[step.component] = step
            self._tell(step)

    def _do(self, name: str, work: Work) -> StepRecord:
        services = self.context.services
        self._check_run()
        step = services.runlog.begin_step(services.run_id, name)
        self.steps[name] = step
        self._tell(step)
        return self.work_on(step, work)

    def work_on(self, step: StepRecord, work: Work) -> StepRecord:
        """Do one component, and put on record how that ended. Raises what keeps the others from starting."""
        services, name = self.context.services, step.component
        began = time.monotonic()
        trouble: SaltformError | None = None
        try:
            step.status = work(name, step).value
        except Cancelled as error:
            step.status, step.reason = Status.CANCELLED.value, error.summary
            step.details["error"] = error.as_dict()
        except (SaltformError, OSError) as caught:
            failure = caught if isinstance(caught, SaltformError) else cannot_write(services.layout.state_dir, caught)
            step.status, step.reason = Status.FAILED.value, failure.summary
            step.details["error"] = failure.as_dict()
            step.exit_code = failure.data.get("terraform_exit_code", step.exit_code)
            trouble = failure if isinstance(failure, NOTHING_NEW) else None
        except Exception as error:  # a defect of ours must not take the other components down with it
            said = f"unexpected error: {type(error).__name__}: {error}"
            step.status, step.reason = Status.FAILED.value, self.context.masked(said)
            self._keep_traceback(name, self.context.masked(traceback.format_exc()))
        self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - began
        try:
            services.runlog.end_step(services.run_id, step)
        except SaltformError as error:
            self.unrecorded.append(name)
            trouble = trouble or error
        self._tell(step)
        if trouble is not None:
            raise trouble
        return step

    def converging(self, step: StepRecord, missing: str) -> None:
        """The component waits for the minions: on record and told with what is missing. Its slot goes to the next."""
        begins = step.status != Status.CONVERGING.value
        if not begins and step.reason == missing:
            return
        step.status, step.reason = Status.CONVERGING.value, missing
        self.context.services.runlog.note_step(self.context.services.run_id, step)
        self._tell(step)
        if begins:
            self._let_go[step.component]()

    def _keep_traceback(self, name: str, text: str) -> None:
        folder: Path = make_folder(self.context.services.layout.run(self.context.services.run_id) / "logs")
        with contextlib.suppress(OSError), (folder / f"{name}.log").open("a") as log:
            log.write(text)

    def _tell(self, step: StepRecord) -> None:
        services = self.context.services
        counts = step.details.get("counts", {})
        note = step.reason or " ".join(
            f"{sign}{counts[name]}"
            for sign, name in (("+", "add"), ("~", "change"), ("-", "remove"))
            if counts.get(name)
        )
        if services.progress is not None:
            found = step.details.get("check", {}).get("status", "")
            services.progress.step(step.component, Status(step.status), note, found)
        services.events.fire(
            step_tag(services.run_id, step.component, step.status),
            {
                "run": services.run_id,
                "verb": self.verb,
                "environment": self.context.name,
                "component": step.component,
                "status": step.status,
                "reason": step.reason,
                "counts": counts,
            },
        )

    def _end(self, record: RunRecord, seconds: float) -> None:
        services = self.context.services
        record.exit_code = self._exit_code()
        record.status = _STATUS.get(record.exit_code, "failed")
        record.summary = self.summary(seconds)
        asked = services.layout.run(record.id) / CANCEL
        if asked.exists():
            self.notes += asked.read_text().splitlines()[1:]
        self.notes += self.context.noted
        record.notes = self.notes
        if services.progress is not None:
            services.progress.finish()
        try:
            services.runlog.end(record)
            audit.note_run(services, record, self.steps)
        except SaltformError as error:
            self.stopped_by, record.exit_code = self.stopped_by or error, record.exit_code or EXIT_FAILED
            self.notes.append(f"the end of run {record.id} is not on record: {error.summary}")
            return
        if record.status == "done":
            forget_snapshot(services.layout.run(record.id))
            if self.context.requests:
                services.runlog.approvals.withdraw(record.id)
                forget_kept_plans(services.layout.run(record.id))
        elif record.exit_code == EXIT_WAITING:
            self._tell_who_has_to_act(record)

    def _tell_who_has_to_act(self, record: RunRecord) -> None:
        waiting = {name: step.details["approval"] for name, step in self.steps.items() if "approval" in step.details}
        said = {"what": "asked", "run": record.id, "verb": record.verb, "environment": record.environment}
        command = f"salt-run infrastructure.approve {record.id}"
        self.context.services.events.fire(
            approval_tag(record.environment, record.id),
            said | {"author": record.author, "components": waiting, "command": command},
        )

    def add_notes(self, *notes: str) -> None:
        """What is known only after the run has ended."""
        self.notes += notes
        self.context.services.runlog.set_notes(self.context.services.run_id, self.notes)

    def summary(self, seconds: float) -> str:
        statuses = (step.status for step in self.steps.values())
        return words.summary(self.verb, self.context.name, statuses, seconds)

    def _exit_code(self) -> int:
        statuses = Counter(step.status for step in self.steps.values())
        if statuses[Status.CANCELLED.value] or self.context.services.cancel.is_set():
            return EXIT_CANCELLED
        if self.off_record or self.trouble:
            return EXIT_FAILED
        failed = [step for step in self.steps.values() if step.status == Status.FAILED.value]
        if failed:
            locked = all(step.details.get("error", {}).get("type") == Locked.__name__ for step in failed)
            return EXIT_LOCKED if locked else EXIT_FAILED
        if statuses[Status.AWAITING_APPROVAL.value]:
            return EXIT_WAITING
        if statuses[Status.PLANNED.value] or statuses[Status.DEFERRED.value]:
            return EXIT_CHANGES
        return EXIT_DONE
