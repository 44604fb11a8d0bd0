"""Execution and state modules: only on a component's home, for the job's author, with the master's pillar."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from saltform.bridge.host import minion_bus, salt_fetcher, sdb_resolver
from saltform.bridge.job import Job, current_job, minion_options
from saltform.bridge.minion_pillar import masters_pillar, without_master
from saltform.config import load_settings
from saltform.config.load import ROOT
from saltform.engine.options import check_known
from saltform.engine.services import MINION, Services
from saltform.errors import EXIT_CHANGES, EXIT_DONE, SaltformError
from saltform.events import QueuedEvents, RecordedEvents
from saltform.runlog import new_run_id
from saltform.verbs.permission import check_work

STATES = "terraform_resource"
SALTS_OWN = ("aggregate",)  # of a state's keywords, the one that Salt leaves in


def minion_call(dunders: Mapping[str, Any], work: Callable[..., Any], *arguments: Any) -> Any:
    """Do `work` for an execution or state module: errors become Salt's own, a run's exit code the job's."""
    from salt.exceptions import CommandExecutionError

    services = None
    try:
        services = minion_services(dunders)
        check_work(services, work.__name__, arguments)
        returned = work(services, *arguments)
    except SaltformError as error:
        raise CommandExecutionError(str(error)) from None
    finally:
        if services is not None:
            services.close()
    if isinstance(returned, dict) and returned.pop("outputter", None):
        code = returned["retcode"]
        dunders["__context__"]["retcode"] = EXIT_DONE if code == EXIT_CHANGES else code
    return returned


def state_call(
    dunders: Mapping[str, Any], work: Callable[..., Any], name: str, given: Mapping[str, Any], known: Sequence[str]
) -> dict[str, Any]:
    """Do `work` for a state function: an error is a result of False with the reason, and changes nothing.

    `given` is what the state says, without the keywords that Salt takes out itself; `known` what the function has.
    """
    from salt.exceptions import CommandExecutionError

    try:
        check_known(f"{STATES}.{work.__name__}", given, [*known, *SALTS_OWN], f"salt-call sys.state_doc {STATES}")
        mine = {key: value for key, value in given.items() if key in known}
        returned: dict[str, Any] = minion_call(dunders, work, name, mine, bool(dunders["__opts__"]["test"]))
    except (CommandExecutionError, SaltformError) as error:
        return {"name": name, "result": False, "changes": {}, "comment": str(error)}
    return returned


def minion_services(dunders: Mapping[str, Any]) -> Services:
    """Services for an execution or state module, on a component's home.

    That is a host with a `saltform:` block whose pillar says what should exist. A worker has the block alone.
    """
    opts, job, pillar = _at_home(dunders["__opts__"])
    return Services(
        settings=load_settings(opts),
        pillar=pillar,
        author=job.author,
        origin=f"{MINION}{opts['id']}",
        run_id=new_run_id(),  # not the job's id: one highstate may hold many runs
        events=RecordedEvents() if without_master(opts) else QueuedEvents(minion_bus(dunders["__salt__"])),
        fetch_salt=salt_fetcher(opts),
        resolve=sdb_resolver(opts),
    )


def job_pillar(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The master's pillar for this job, on any minion."""
    opts = minion_options(given)
    return masters_pillar(opts, current_job(opts))


def prefetch_pillar(opts: Mapping[str, Any]) -> None:
    """Before the first state of a job: states with `parallel: True` run in forked children, which inherit it."""
    try:
        _at_home(opts)
    except SaltformError:
        pass  # each state says so itself


def _at_home(given: Mapping[str, Any]) -> tuple[dict[str, Any], Job, Mapping[str, Any]]:
    opts = minion_options(given)
    if "saltform" not in opts:
        raise _not_at_home(opts, "give its configuration the master's `saltform:` block")
    job = current_job(opts)
    pillar = masters_pillar(opts, job)
    if ROOT not in pillar:
        raise _not_at_home(opts, f"target `{ROOT}:` to it in pillar/top.sls")
    return opts, job, pillar


def _not_at_home(opts: Mapping[str, Any], missing: str) -> SaltformError:
    return SaltformError(
        f"minion {opts['id']} is not the home of any component",
        "terraform runs where the states are: on the master, or on its own minion",
        f"run it there; if this is that minion, {missing}",
    )
