"""Execution and state modules: only on a component's home, with the minion's own pillar."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from saltform.bridge.host import job_author, minion_bus, salt_fetcher, sdb_resolver
from saltform.config import load_settings
from saltform.config.load import ROOT
from saltform.errors import EXIT_CHANGES, EXIT_DONE, SaltformError
from saltform.events import QueuedEvents, RecordedEvents
from saltform.operations.run.permission import check_work
from saltform.operations.run.services import MINION, Services
from saltform.runlog import new_run_id


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


def state_call(dunders: Mapping[str, Any], work: Callable[..., Any], name: str, *arguments: Any) -> dict[str, Any]:
    """Do `work` for a state function: an error is a result of False with the reason, and changes nothing."""
    from salt.exceptions import CommandExecutionError

    try:
        returned: dict[str, Any] = minion_call(dunders, work, name, *arguments)
    except CommandExecutionError as error:
        return {"name": name, "result": False, "changes": {}, "comment": str(error)}
    return returned


def minion_services(dunders: Mapping[str, Any]) -> Services:
    """Services for an execution or state module, on a component's home.

    That is a host with a `saltform:` block whose pillar says what should exist. A worker has the block alone.
    """
    opts, pillar = dict(dunders["__opts__"]), dict(dunders["__pillar__"])
    missing = [] if "saltform" in opts else ["give its configuration the master's `saltform:` block"]
    missing += [] if ROOT in pillar else [f"target `{ROOT}:` to it in pillar/top.sls"]
    if missing:
        raise SaltformError(
            f"minion {opts['id']} is not the home of any component",
            "terraform runs where the states are: on the master, or on its own minion",
            f"run it there; if this is that minion, {' and '.join(missing)}",
        )
    alone = opts.get("file_client") == "local"  # salt-call --local: there is no bus to fire on
    return Services(
        settings=load_settings(opts),
        pillar=pillar,
        author=job_author(opts),
        origin=f"{MINION}{opts['id']}",
        run_id=new_run_id(),  # not the job's id: one highstate may hold many runs
        events=RecordedEvents() if alone else QueuedEvents(minion_bus(dunders["__salt__"])),
        fetch_salt=salt_fetcher(opts),
        resolve=sdb_resolver(opts),
    )
