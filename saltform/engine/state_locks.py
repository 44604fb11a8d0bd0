"""Terraform's own lock on a state, left behind by a process of ours that was killed.

It is ours, and dead, when all of this holds: we have the component's lock, so no terraform of ours is at it; it was
taken on the host of a run that doesn't live any more; and it was taken while that run was at this component, not
later than the run's last sign of life. Anybody else's is left alone, and that is said.
"""

from __future__ import annotations

from saltform.engine.work import ComponentWork
from saltform.errors import Locked, SaltformError
from saltform.runlog import later
from saltform.terraform import force_unlock
from saltform.terraform.session import Session
from saltform.terraform.state_lock import StateLock, in_the_way

MARGIN = 10.0  # seconds: a sign of life comes every two, on a machine that has time for it


def dead_run(part: ComponentWork, lock: StateLock) -> str:
    """The dead run of ours that took the lock, or ''."""
    if not "" < lock.created < part.locked_since:
        return ""  # not told, or of later: then it is our own request, which some backends describe instead
    left = part.left_by_the_dead
    if left and left["host"] == lock.host and _within(lock, left["since"], left["heartbeat"]):
        return str(left["run"])  # it may be this very run, which was resumed
    services = part.services
    host, begin, end = part.context.earlier.get(part.component.name, ("", "", ""))
    if begin and host == lock.host and _within(lock, begin, end):
        return services.run_id
    for run, step in services.runlog.cut_short(part.component.environment, part.component.name):
        if run.id == services.run_id or run.host != lock.host or services.locks.run_alive(run.id):
            continue
        if _within(lock, step.started, step.ended or max(run.heartbeat, step.started)):
            return run.id
    return ""


def _within(lock: StateLock, begin: str, end: str) -> bool:
    return begin <= lock.created <= later(end, MARGIN)


def release(part: ComponentWork, session: Session, error: SaltformError) -> bool:
    """Release the lock that a command failed at, if it is a dead one's of ours; whose it was is noted."""
    lock = in_the_way(error)
    if lock is None:
        return False
    run = dead_run(part, lock)
    if not run:
        error.fix = f"it is not of a dead run of ours: ask {lock.who or 'its holder'}; {error.fix}"
        return False
    force_unlock.run(session, lock.id)
    part.context.note(f"{part.component.name}: released the state lock that run {run} left ({lock})")
    return True


def strangers(component: str, lock: StateLock) -> Locked:
    return Locked(
        f"the state of {component} is locked by somebody else",
        f"{lock}: that is not a dead run of ours, so it is left alone",
        "wait for it; if you know that it is dead, remove it with Terraform's own force-unlock",
        holder={"who": lock.who, "since": lock.created},
    )
