"""The run log: every step on record before and after it happens."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltform.config.names import nearest
from saltform.config.runlog import DEAD_AFTER
from saltform.errors import LostLock, UnknownName
from saltform.layout import Layout
from saltform.runlog.audit import AuditLog
from saltform.runlog.copies import StateCopies
from saltform.runlog.database import open_database
from saltform.runlog.keeper import Keeper
from saltform.runlog.locks import Locks
from saltform.runlog.records import ComponentRecord, RunRecord, StepRecord, has_state
from saltform.runlog.releases import ReleaseLog
from saltform.runlog.timestamps import now
from saltform.status import Status

# Not for every run: who asks for one of these imports it.
if TYPE_CHECKING:
    from saltform.runlog.approvals import ApprovalLog
    from saltform.runlog.drift import DriftLog
    from saltform.runlog.dump import Dump
    from saltform.runlog.minions import MinionLog
    from saltform.runlog.pruning import Pruning

# The columns that a step's end writes.
_STEP = "status reason started ended fingerprint release binary_path serial exit_code log details".split()


_BY_COMPONENT = ("promoted", "state_copies", "drift_checks", "drift_findings")
ALL = 2**31 - 1  # instead of a limit: SQLite and PostgreSQL say "none" differently


class RunLog:
    """Runs, steps, releases and components: of one master in a file, of several in PostgreSQL."""

    def __init__(self, where: Path | str, dead_after: float = DEAD_AFTER) -> None:
        self._database = open_database(where, dead_after)
        self._keeper = Keeper(self._database, dead_after)
        self._turns: dict[str, int] = {}  # of the runs that this process is at
        self._kept: set[str] = set()  # releases: each is kept once, whoever comes with it again

    def close(self) -> None:
        self._database.close()

    def locks(self, layout: Layout) -> Locks:
        return Locks(self._database, layout, self._keeper)

    @property
    def shared(self) -> bool:
        """Whether other masters write to it, too."""
        return self._database.shared

    @property
    def drift(self) -> DriftLog:
        from saltform.runlog.drift import DriftLog

        return DriftLog(self._database)

    @property
    def approvals(self) -> ApprovalLog:
        from saltform.runlog.approvals import ApprovalLog

        return ApprovalLog(self._database)

    @property
    def audit(self) -> AuditLog:
        return AuditLog(self._database)

    @property
    def releases(self) -> ReleaseLog:
        return ReleaseLog(self._database)

    @property
    def pruning(self) -> Pruning:
        from saltform.runlog.pruning import Pruning

        return Pruning(self._database)

    @property
    def whole(self) -> Dump:
        from saltform.runlog.dump import Dump

        return Dump(self._database)

    @property
    def copies(self) -> StateCopies:
        return StateCopies(self._database)

    @property
    def minions(self) -> MinionLog:
        from saltform.runlog.minions import MinionLog

        return MinionLog(self._database)

    # --- runs and steps -------------------------------------------------------------------------------------

    def begin(self, run: RunRecord) -> None:
        run.started, run.host, run.pid = now(), socket.gethostname(), os.getpid()
        self._database.write(
            "INSERT INTO runs (id, environment, verb, author, options, host, pid, started, status, graph, expires)"  # noqa: S608
            f" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {self._database.after})",
            (run.id, run.environment, run.verb, run.author, json.dumps(run.options), run.host, run.pid)
            + (run.started, run.status, json.dumps(run.graph), self._keeper.dead_after),
        )
        self._turns[run.id] = run.turn

    def go_on(self, run: RunRecord) -> None:
        """The same run again, after it ended or died: in this process from now on."""
        run.host, run.pid, run.status, run.ended = socket.gethostname(), os.getpid(), "running", ""
        run.turn += 1
        self._database.write(
            "UPDATE runs SET host = ?, pid = ?, status = ?, ended = NULL, exit_code = NULL, notes = ?, turn = ?,"  # noqa: S608
            f" cancel = '', expires = {self._database.after} WHERE id = ?",
            (run.host, run.pid, run.status, json.dumps(run.notes), run.turn, self._keeper.dead_after, run.id),
        )
        self._turns[run.id] = run.turn

    def abandon(self, run: str, notes: list[str]) -> None:
        self._database.write(
            "UPDATE runs SET status = 'abandoned', ended = coalesce(ended, ?), notes = ? WHERE id = ?",
            (now(), json.dumps(notes), run),
        )

    def end(self, run: RunRecord) -> None:
        run.ended = now()
        self._in_turn(
            run.id,
            "UPDATE runs SET ended = ?, status = ?, exit_code = ?, summary = ?, notes = ? WHERE id = ?",
            (run.ended, run.status, run.exit_code, run.summary, json.dumps(run.notes), run.id),
        )

    def ask_to_cancel(self, run: str, how: str) -> None:
        """For a run on another master: whoever watches there reads it."""
        self._database.write("UPDATE runs SET cancel = ? WHERE id = ?", (how, run))

    def asked_to_cancel(self, run: str) -> str:
        rows = self._database.rows("SELECT cancel FROM runs WHERE id = ?", (run,))
        return str(rows[0]["cancel"]) if rows else ""

    def set_notes(self, run: str, notes: list[str]) -> None:
        self._database.write("UPDATE runs SET notes = ? WHERE id = ?", (json.dumps(notes), run))

    def set_rolled_back_by(self, run: str, by: str) -> None:
        self._database.write("UPDATE runs SET rolled_back_by = ? WHERE id = ?", (by, run))

    def begin_step(self, run: str, component: str) -> StepRecord:
        step = StepRecord(component, Status.RUNNING.value, started=now())
        self._insert(run, step, lasting=False)  # before anything happens, its component's record has to last
        return step

    def end_step(self, run: str, step: StepRecord) -> None:
        step.ended = now()
        names = ", ".join(f"{name} = ?" for name in _STEP)
        values = (*self._values(step), run, step.component)
        self._in_turn(run, f"UPDATE steps SET {names} WHERE run = ? AND component = ?", values)  # noqa: S608

    def note_step(self, run: str, step: StepRecord) -> None:
        """Where a step that has not ended stands."""
        self._database.write(
            "UPDATE steps SET status = ?, reason = ?, details = ? WHERE run = ? AND component = ?",
            (step.status, step.reason, json.dumps(step.details), run, step.component),
        )

    def add_steps(self, run: str, steps: Iterable[StepRecord]) -> None:
        """Steps that had nothing to do, or never started: one transaction for all of them."""
        with self._database.transaction():
            for step in steps:
                step.started = step.ended = now()
                self._insert(run, step)

    def _insert(self, run: str, step: StepRecord, lasting: bool = True) -> None:
        names = ", ".join(_STEP)
        self._database.write(
            f"INSERT INTO steps (run, component, position, {names})"  # noqa: S608
            f" VALUES (?, ?, (SELECT coalesce(max(position), -1) + 1 FROM steps WHERE run = ?),"
            f" {', '.join('?' * len(_STEP))}) ON CONFLICT (run, component) DO UPDATE SET"  # in a run that goes on
            f" position = excluded.position, {', '.join(f'{name} = excluded.{name}' for name in _STEP)}",
            (run, step.component, run, *self._values(step)),
            lasting,
        )

    def _in_turn(self, run: str, sql: str, values: Sequence[Any]) -> None:
        """A write about a run that we are at, refused when it goes on elsewhere since: we were taken for dead."""
        turn = self._turns.get(run)
        if turn is None:
            self._database.write(sql, values)
            return
        guard = f" AND EXISTS (SELECT 1 FROM runs WHERE id = ? AND turn = ?{self._database.share})"  # noqa: S608
        if not self._database.write(sql + guard, (*values, run, turn)):
            raise LostLock(
                f"run {run} goes on elsewhere",
                "it was taken for dead and resumed, so what this process still has to say about it is not recorded",
                f"salt-run infrastructure.show {run}",
            )

    @staticmethod
    def _values(step: StepRecord) -> tuple[Any, ...]:
        values = vars(step) | {"details": json.dumps(step.details)}
        return tuple(values[name] for name in _STEP)

    def runs(
        self,
        environment: str | None = None,
        limit: int = 20,
        *,
        verbs: Sequence[str] = (),
        statuses: Sequence[str] = (),
        after: str = "",
    ) -> list[RunRecord]:
        """The newest runs first; of these verbs and statuses only, and begun after that moment, where that is asked.

        Whoever looks for a certain kind of run says so here: hourly drift checks are runs, too, and many.
        """
        conditions, values = ["started > ?"], [after]
        given = {"environment": [environment] if environment is not None else [], "verb": verbs, "status": statuses}
        for column, wanted in given.items():
            if wanted:
                conditions.append(f"{column} IN ({', '.join('?' * len(wanted))})")
                values += wanted
        rows = self._database.rows(
            f"SELECT * FROM runs WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT ?",  # noqa: S608
            (*values, limit),
        )
        return [_run(row) for row in rows]

    def run(self, run: str) -> RunRecord:
        """A run by its id; `last` is the newest one."""
        rows = self._database.rows(
            "SELECT * FROM runs WHERE id = ? OR ? = 'last' ORDER BY id DESC LIMIT 1", (run, run)
        )
        if not rows:
            known = [record.id for record in self.runs(limit=100)]
            fix = "salt-run infrastructure.history shows the newest runs"
            raise UnknownName("run", run, known[:10], nearest(run, known), fix)
        return _run(rows[0])

    def steps(self, run: str) -> list[StepRecord]:
        rows = self._database.rows("SELECT * FROM steps WHERE run = ? ORDER BY position", (run,))
        return [_step(row) for row in rows]

    def cut_short(self, environment: str, component: str) -> list[tuple[RunRecord, StepRecord]]:
        """The steps at one component that failed, were cancelled or never ended, and their runs, newest first."""
        unwell = [status.value for status in (Status.RUNNING, Status.FAILED, Status.CANCELLED)]
        rows = self._database.rows(
            "SELECT steps.* FROM steps JOIN runs ON runs.id = steps.run WHERE runs.environment = ?"
            " AND steps.component = ? AND steps.status IN (?, ?, ?) ORDER BY runs.id DESC",
            (environment, component, *unwell),
        )
        return [(self.run(row["run"]), _step(row)) for row in rows]

    # --- releases and components ----------------------------------------------------------------------------

    def keep_release(self, digest: str, content: Mapping[str, Any], run: str) -> None:
        if digest in self._kept:
            return
        self._database.write(
            "INSERT INTO releases (digest, content, first_run) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (digest, json.dumps(content, sort_keys=True), run),
            lasting=False,  # before the record that names it, and that lasts
        )
        self._kept.add(digest)

    def release(self, digest: str) -> dict[str, Any]:
        rows = self._database.rows("SELECT content FROM releases WHERE digest = ?", (digest,))
        if not rows:
            raise UnknownName("release", digest, [])
        tree: dict[str, Any] = json.loads(rows[0]["content"])
        return tree

    def components(self, environment: str) -> dict[str, ComponentRecord]:
        """Every component of the environment that was ever applied and not destroyed since."""
        rows = self._database.rows(
            "SELECT * FROM components WHERE environment = ? ORDER BY component", (environment,)
        )
        return {row["component"]: ComponentRecord(**row) for row in map(dict, rows)}

    def applied(self, environment: str) -> set[str]:
        """Those of its components that have a state since their last good apply."""
        rows = self._database.rows(
            "SELECT component, fingerprint, serial FROM components WHERE environment = ?", (environment,)
        )
        return {row["component"] for row in rows if has_state(row["fingerprint"], row["serial"])}

    def environments(self) -> dict[str, int]:
        """Those that have components, and how many."""
        rows = self._database.rows("SELECT environment, COUNT(*) AS held FROM components GROUP BY environment")
        return {row["environment"]: row["held"] for row in rows}

    def component(self, environment: str, component: str) -> ComponentRecord | None:
        rows = self._database.rows(
            "SELECT * FROM components WHERE environment = ? AND component = ?", (environment, component)
        )
        return ComponentRecord(**dict(rows[0])) if rows else None

    def keep_component(self, record: ComponentRecord, number: int | None = None) -> None:
        """Where it stands now. With the number of the writer's lock: refused if another has had the lock since."""
        values, where = vars(record), (record.environment, record.component)
        written = self._database.write(
            f"INSERT INTO components ({', '.join(values)}) SELECT {', '.join('?' * len(values))}"
            f" WHERE {self._still(number)} ON CONFLICT (environment, component) DO UPDATE SET"
            f" {', '.join(f'{name} = excluded.{name}' for name in values)}",
            (*values.values(), *self._still_values(number, *where)),
            lasting=not record.fingerprint,  # before an apply; after it, the end of the step is what lasts
        )
        self._check_written(written, number, *where)

    def forget_component(self, environment: str, component: str, number: int | None = None) -> None:
        gone = self._database.write(
            f"DELETE FROM components WHERE environment = ? AND component = ? AND {self._still(number)}",  # noqa: S608
            (environment, component, *self._still_values(number, environment, component)),
        )
        self._check_written(gone, number, environment, component)

    def _still(self, number: int | None) -> str:
        """The condition that the lock has the number that its holder got with it."""
        if number is None:
            return "1 = 1"
        share = self._database.share
        return f"EXISTS (SELECT 1 FROM locks WHERE environment = ? AND component = ? AND number = ?{share})"  # noqa: S608

    @staticmethod
    def _still_values(number: int | None, environment: str, component: str) -> tuple[Any, ...]:
        return () if number is None else (environment, component, number)

    def _check_written(self, rows: int, number: int | None, environment: str, component: str) -> None:
        """Nothing written: there was nothing to forget, or the lock is another's."""
        if number is None or rows:
            return
        where = "SELECT 1 FROM locks WHERE environment = ? AND component = ? AND number = ?"
        if not self._database.rows(where, (environment, component, number)):
            raise LostLock(
                f"the lock of {environment}/{component} was lost",
                "another run has had it since, so what this one still has to say about the component is not recorded",
                f"salt-run infrastructure.plan {environment} components={component}",
            )

    def rename_component(self, environment: str, old: str, new: str) -> None:
        with self._database.transaction():
            for table in ("components", "minion_tokens", *_BY_COMPONENT):
                if table in _BY_COMPONENT:  # what was found out about a component that wasn't there yet
                    self._database.write(
                        f"DELETE FROM {table} WHERE environment = ? AND component = ?",  # noqa: S608
                        (environment, new),
                    )
                self._database.write(
                    f"UPDATE {table} SET component = ? WHERE environment = ? AND component = ?",  # noqa: S608
                    (new, environment, old),
                )

    # --- leases ---------------------------------------------------------------------------------------------

    def add_lease(self, lease: str, run: str, component: str) -> None:
        self._database.write(
            "INSERT INTO leases (id, run, component, taken) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (lease, run, component, now()),
        )

    def remove_lease(self, lease: str) -> None:
        self._database.write("DELETE FROM leases WHERE id = ?", (lease,))

    def leases(self) -> list[dict[str, str]]:
        return [dict(row) for row in self._database.rows("SELECT * FROM leases ORDER BY taken")]


def _run(row: Any) -> RunRecord:
    values = dict(row)
    del values["expires"]  # the locks' own business
    for name in ("options", "notes", "graph"):
        values[name] = json.loads(values[name])
    values["ended"] = values["ended"] or ""
    return RunRecord(**values)


def _step(row: Any) -> StepRecord:
    values = {name: row[name] for name in _STEP}
    values["details"] = json.loads(values["details"])
    values |= {name: values[name] or "" for name in ("started", "ended")}
    return StepRecord(component=row["component"], **values)
