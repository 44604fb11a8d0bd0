"""What an environment was made of at an earlier time: from what its steps left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from saltform.engine.context import EnvironmentContext
from saltform.errors import SaltformError, UnknownName
from saltform.runlog import RunLog, RunRecord
from saltform.runlog.releases import Had
from saltform.sources.promoted import SHORTEST

JID = 20  # digits of a run's id
DESTROY = ""  # instead of a release: the component was not there before
Back = dict[str, list[str]]  # component → the release that it goes back to and its binary, or DESTROY
Before = Callable[[str], bool]  # whether something that began at this moment counts


@dataclass(frozen=True)
class Goal:
    """What every component was, and which of them are something else by now."""

    then: Back
    differing: list[str]
    said: str  # "how run … left it"


def back_to(context: EnvironmentContext, to: str, components: Sequence[str]) -> Goal:
    """What `to` means for this environment."""
    history = context.services.runlog.releases.history(context.name)
    if not to:
        last = _last_change(context)
        who = f"run {last.id} ({last.verb} by {last.author})"
        goal = _at(context, history, lambda moment: moment < last.started, f"how it was before {who}")
        if all(release == DESTROY for release, _ in goal.then.values()):
            raise SaltformError(
                f"{context.name} has nothing to go back to",
                f"before {who} there was nothing",
                f"salt-run infrastructure.destroy {context.name} shows what there is to destroy",
            )
        return goal
    if len(to) >= JID and to[:JID].isdecimal():
        run = context.services.runlog.run(to)
        if run.environment != context.name:
            newest = list(dict.fromkeys(had.run for had in history))[-10:]
            fix = f"salt-run infrastructure.history {context.name} shows its newest runs"
            raise UnknownName(f"run of {context.name}", to, newest, fix=fix)
        return _at(context, history, lambda moment: moment <= run.started, f"how run {run.id} left it")
    return _one_release(context, history, to, components)


def _at(context: EnvironmentContext, history: Sequence[Had], before: Before, said: str) -> Goal:
    then = _left_behind(history, before)
    _check_renames(context, history, then, before)
    back = {name: [had.release, had.binary_path] for name, had in then.items()}
    back |= {name: [DESTROY, ""] for name in context.records if name not in then}
    return Goal(back, [name for name in back if _differs(context, name, back[name][0])], said)


def _differs(context: EnvironmentContext, name: str, release: str) -> bool:
    record = context.records.get(name)
    return record is None or not record.fingerprint or record.release != release


def _last_change(context: EnvironmentContext) -> RunRecord:
    """The last run that changed something, to its end or not."""
    log = context.services.runlog
    run = log.releases.last_change(context.name)
    if not run:
        raise SaltformError(f"{context.name} has nothing to go back to", "no run has ever changed anything there")
    return log.run(run)


def _left_behind(history: Iterable[Had], before: Before) -> dict[str, Had]:
    then: dict[str, Had] = {}
    for had in history:
        if before(had.started):
            if had.gone:
                then.pop(had.component, None)
            else:
                then[had.component] = had
    return then


def _check_renames(context: EnvironmentContext, history: Sequence[Had], then: dict[str, Had], before: Before) -> None:
    """A component that has another name by now must not be built twice, nor destroyed as if it were new."""
    lost = set(_left_behind(history, lambda _: True)) & set(then) - set(context.records)
    older = {
        name
        for name, record in context.records.items()
        if name not in then and _was_there(context.services.runlog, record.born, before)
    }
    if lost and older:
        raise SaltformError(
            f"{context.name} can't go back beyond a rename",
            f"{', '.join(sorted(lost))} became {', '.join(sorted(older))} since",
            "go back component by component: to=RELEASE, as `releases` shows them",
        )


def _was_there(log: RunLog, born: str, before: Before) -> bool:
    """A birth that nobody remembers was long ago: better refused than destroyed."""
    try:
        return before(log.run(born).started)
    except UnknownName:
        return True


def _one_release(context: EnvironmentContext, history: Sequence[Had], to: str, components: Sequence[str]) -> Goal:
    found = {
        had.component: had
        for had in history
        if len(to) >= SHORTEST and had.release.startswith(to) and (not components or had.component in components)
    }
    if not found:
        known = {f"{had.component} {had.release[:SHORTEST]}" for had in history if not had.gone}
        raise UnknownName(f"run or release of {context.name}", to, known)
    if len(found) > 1:
        raise SaltformError(
            f"release {to} is not one component's alone",
            f"had by {', '.join(sorted(found))}",
            f"salt-run infrastructure.rollback {context.name} to={to} components={min(found)}",
        )
    ((name, had),) = found.items()
    differing = [name] if _differs(context, name, had.release) else []
    return Goal({name: [had.release, had.binary_path]}, differing, f"at release {had.release[:SHORTEST]} of {name}")
