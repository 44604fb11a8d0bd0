"""Runners: their pillar, their exit codes, their author."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from saltform.bridge.fleet import SaltFleet
from saltform.bridge.host import (
    master_events,
    pillar_refresher,
    salt_fetcher,
    sdb_resolver,
)
from saltform.config import load_settings, nearest
from saltform.config.load import ROOT
from saltform.errors import EXIT_CHANGES, EXIT_DONE, Cancelled, ConfigError, Problem
from saltform.layout import Layout
from saltform.operations.run.options import bad
from saltform.operations.run.permission import check_call
from saltform.operations.run.result import failure
from saltform.operations.run.services import MINION, SHELL, Services
from saltform.progress import Progress
from saltform.runlog import new_run_id

# Strangers can make the master call these, by asking it to be let in: they cost a look into the run log and no more.
WITHOUT_PILLAR = frozenset({"accept_key"})


def runner_call(
    dunders: Mapping[str, Any], verb: str, unknown: Mapping[str, Any], *arguments: Any, known: Sequence[str] = ()
) -> dict[str, Any]:
    """Do a runner's verb, `saltform.operations.VERB.VERB`, and set both of Salt's exit codes.

    `unknown` are keywords that the verb doesn't have; those in underscores are Salt's own. `known` are those it has.
    """
    services = None
    try:
        for name in unknown:
            if not name.startswith("__"):
                near = nearest(name, known)
                raise bad(name, f"{verb} has no such argument." + (f" Did you mean {near!r}?" if near else ""))
        arguments = (_name(verb, arguments[0]), *arguments[1:]) if arguments else ()
        services = _runner_services(dunders, verb)
        returned = call(verb, services, *arguments)
    except Exception as error:
        returned = failure(verb, error)
    except (KeyboardInterrupt, SystemExit):
        # Salt's own answer to a signal is an exit with 0. A run catches signals itself; this was before or after it.
        returned = failure(verb, Cancelled(f"{verb} was cancelled", "by a signal, when no terraform was at work"))
    finally:
        if services is not None:
            services.close()
    # Salt takes the command line's exit code from the return and an orchestration's verdict from the context,
    # which leaks from one reactor call to the next: it is always set, 0 too. "Changes found" is no failure there.
    code = returned["retcode"]
    dunders["__context__"]["retcode"] = EXIT_DONE if code == EXIT_CHANGES else code
    return returned


def _name(verb: str, first: Any) -> Any:
    """A verb's first argument is a name or nothing; the command line makes numbers of some, and a list of `[a]`."""
    if isinstance(first, dict | list):
        raise bad(f"{verb} …", f"found {first!r}, expected a name")
    return first if first is None or verb == "prune" else str(first)


def call(verb: str, services: Services, *arguments: Any) -> dict[str, Any]:
    """One verb, if the caller may. Imported only now: every `salt-run` on a master loads our runner."""
    check_call(services, verb, arguments)
    module = importlib.import_module(f"saltform.operations.{verb}")
    returned: dict[str, Any] = getattr(module, verb)(services, *arguments)
    return returned


def _runner_services(dunders: Mapping[str, Any], verb: str) -> Services:
    opts = dict(dunders["__opts__"])  # plain: what Salt's loader hands out can't be read from other threads
    settings, origin = load_settings(opts), _origin(opts)
    if origin == SHELL:
        gc.freeze()  # this process ends with the verb: Salt's own objects are searched for garbage no more
    # Only pillar says where a run log is that isn't here.
    with_pillar = verb not in WITHOUT_PILLAR or not Layout(settings.state_dir).runlog.exists()
    return Services(
        settings=settings,
        pillar=_runner_pillar(opts, settings.pillar_id or opts["id"]) if with_pillar else {},
        author=origin if origin.startswith(MINION) else str(dunders.get("__user__") or opts.get("user") or "unknown"),
        origin=origin,
        run_id=str(dunders.get("__jid__") or "") or new_run_id(),
        events=master_events(opts),
        progress=Progress() if _someone_watches(opts) else None,
        fetch_salt=salt_fetcher(opts),
        resolve=sdb_resolver(opts),
        refresh_pillar=pillar_refresher(opts),
        fleet=SaltFleet(opts),
    )


def _runner_pillar(opts: Mapping[str, Any], minion_id: str) -> Mapping[str, Any]:
    """A runner has no pillar: it is compiled for one id, by default the master's own, as in an orchestration."""
    import salt.pillar

    grains = dict(opts.get("grains") or {}) | {"id": minion_id}
    compiled = salt.pillar.Pillar(dict(opts), grains, minion_id, opts.get("saltenv") or "base").compile_pillar()
    if compiled.get("_errors"):
        raise ConfigError(
            Problem(f"pillar of {minion_id}", str(error), "pillar files that render") for error in compiled["_errors"]
        )
    if ROOT not in compiled:
        where = f"{ROOT} (pillar of {minion_id})"
        raise ConfigError([Problem(where, "no such key", f"{minion_id} targeted in pillar/top.sls")])
    return compiled


def _someone_watches(opts: Mapping[str, Any]) -> bool:
    """Progress goes to stderr when a person or a script called `salt-run`; nobody reads a background run's stderr."""
    return _origin(opts) == SHELL and not opts.get("async") and sys.stderr is not None


def _origin(opts: Mapping[str, Any]) -> str:
    """`salt-run` itself; or the master, on behalf of salt-api, a schedule or a reactor; or of a minion (`peer_run`).

    For a minion, Salt makes options that look like those of `salt-run` but for the program's name, and the user is
    root, it says.
    """
    if "fun" not in opts:
        return "master"
    return SHELL if opts.get("__cli") == "salt-run" else f"{MINION}{opts['id']}"
