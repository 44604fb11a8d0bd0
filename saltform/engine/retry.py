"""Trying again what may pass by itself, never blindly: every try plans anew and applies that plan.

A try that failed half-way has changed the state; the next plan sees what is there.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

from saltform.config.types import Retry
from saltform.engine.state_locks import release
from saltform.engine.work import ComponentWork
from saltform.errors import SaltformError, StalePlan
from saltform.status import Status
from saltform.terraform.session import Session
from saltform.terraform.transient_errors import STATE_LOCK_HELD, passing

# What the backend `pg` says while another component's first state is made in the same database: one at a time. It is
# no lock on a state, and passes when the others have theirs, however many tries that takes.
CREATING, MOST_CREATING = "Already locked for workspace creation", 100


def retrying(part: ComponentWork, session: Session, work: Callable[[], Status]) -> Status:
    """Do `work` as often as pillar's `retry:` allows, with growing waits; a cancel ends the wait."""
    retry, stale, released, creating = part.component.retry, False, False, 0
    for attempt in itertools.count(1):
        try:
            return work()
        except StalePlan:
            # Somebody else's apply came in between. Never the same plan twice: a new one, once.
            if stale:
                raise
            stale = True
        except SaltformError as error:
            kind = passing(error)
            if kind == STATE_LOCK_HELD and not released and release(part, session, error):
                released = True
                continue
            if CREATING in error.detail and creating < MOST_CREATING:
                creating += 1
                if session.cancel.wait(random.uniform(0.2, 1.0)):  # noqa: S311 - no secret
                    raise
                continue
            tries = attempt - stale - released - creating
            if not kind or tries >= retry.attempts or not _in_budget(part, kind, error):
                raise
            seconds = wait(retry, tries)
            part.step.details.setdefault("retries", []).append(
                {"because": kind, "error": error.summary, "waited": round(seconds, 1)}
            )
            part.tell(f"{kind}: trying again in {seconds:.0f} s")
            session.log(f"saltform: {kind}, planning again in {seconds:.1f} s ({tries} of {retry.attempts} tries)")
            if session.cancel.wait(seconds):
                raise
    raise AssertionError("the last try returns or raises")


def _in_budget(part: ComponentWork, kind: str, error: SaltformError) -> bool:
    """A provider that is broken is not asked again by everybody: all runs share a number of retries a minute."""
    if part.gate is None or kind == STATE_LOCK_HELD or part.gate.may_retry():
        return True
    used_up = f"the retries of {part.gate.provider} for this minute are used up (limits:retries_per_minute)"
    error.detail += f"\nNot tried again: {used_up}."
    part.context.note(used_up)
    return False


def wait(retry: Retry, tries: int) -> float:
    """Doubled after every try, shortened by chance: those who failed together must not come back together."""
    full = min(retry.longest, retry.wait * 2.0 ** (tries - 1))
    return full * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
