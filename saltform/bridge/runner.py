"""Runners: their pillar, their exit codes, their author."""

from __future__ import annotations

import gc
import importlib
import json
import logging
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from saltform.bridge.host import (
    master_events,
    pillar_refresher,
    salt_fetcher,
    salt_master,
    sdb_resolver,
)
from saltform.bridge.minion_pillar import check_rendered
from saltform.bridge.minions import SaltMinions
from saltform.config import Settings, load_settings
from saltform.config.load import ROOT
from saltform.engine.options import bad, check_known
from saltform.engine.result import failure
from saltform.engine.services import MINION, SHELL, Services
from saltform.errors import EXIT_CHANGES, EXIT_DONE, Cancelled, ConfigError, Problem, SaltformError
from saltform.features.requests.lists import keep_lists
from saltform.layout import Layout
from saltform.report.progress import Progress
from saltform.runlog import new_run_id
from saltform.verbs.permission import check_call

log = logging.getLogger(__name__)

# Strangers can make the master call these, by asking it to be let in or by an event: they cost a look into the run
# log, or into a list, and no more.
WITHOUT_PILLAR = frozenset({"accept_key", "request"})


def runner_call(
    dunders: Mapping[str, Any], verb: str, unknown: Mapping[str, Any], *arguments: Any, known: Sequence[str] = ()
) -> dict[str, Any]:
    """Do a runner's verb, `saltform.verbs.VERB.VERB`, and set both of Salt's exit codes.

    `unknown` are keywords that the verb doesn't have; those in underscores are Salt's own. `known` are those it has.
    """
    services = None
    try:
        _check_known(verb, unknown, known)
        arguments = (_name(verb, arguments[0]), *arguments[1:]) if arguments else ()
        services = runner_services(dunders, verb)
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


def _check_known(verb: str, unknown: Iterable[str], known: Sequence[str]) -> None:
    """Logged, too: nobody reads what a schedule or a reactor gets back, and it would be wrong for ever."""
    try:
        check_known(verb, unknown, known)
    except SaltformError as error:
        log.error("infrastructure.%s was not run: %s", verb, error)
        raise


def _name(verb: str, first: Any) -> Any:
    """A verb's first argument is a name or nothing; the command line makes numbers of some, and a list of `[a]`."""
    if isinstance(first, dict | list):
        raise bad(f"{verb} …", f"found {first!r}, expected a name")
    return first if first is None or verb == "prune" else str(first)


def call(verb: str, services: Services, *arguments: Any) -> dict[str, Any]:
    """One verb, if the caller may. Imported only now: every `salt-run` on a master loads our runner."""
    arguments = check_call(services, verb, arguments)
    module = importlib.import_module(f"saltform.verbs.{verb}")
    returned: dict[str, Any] = getattr(module, verb)(services, *arguments)
    return returned


def runner_services(dunders: Mapping[str, Any], verb: str) -> Services:
    """What a runner's verb is given."""
    opts = dict(dunders["__opts__"])  # plain: what Salt's loader hands out can't be read from other threads
    settings, origin = load_settings(opts), _origin(opts)
    if origin == SHELL:
        gc.freeze()  # this process ends with the verb: Salt's own objects are searched for garbage no more
    # Only pillar says where a run log is that isn't here.
    elsewhere = verb == "accept_key" and not Layout(settings.state_dir).runlog.exists()
    with_pillar = verb not in WITHOUT_PILLAR or elsewhere
    return Services(
        settings=settings,
        pillar=runner_pillar(opts, settings) if with_pillar else {},
        author=origin if origin.startswith(MINION) else str(dunders.get("__user__") or opts.get("user") or "unknown"),
        origin=origin,
        run_id=str(dunders.get("__jid__") or "") or new_run_id(),
        events=master_events(opts),
        progress=Progress() if _someone_watches(opts) else None,
        fetch_salt=salt_fetcher(opts),
        resolve=sdb_resolver(opts),
        refresh_pillar=pillar_refresher(opts),
        start_request=_request_starter(opts),
        minions=SaltMinions(opts),
        master=salt_master(opts),
    )


def _request_starter(opts: Mapping[str, Any]) -> Callable[[Mapping[str, str], int], None]:
    """Starts the process of a minion's request, and doesn't wait for it."""

    def start(asked: Mapping[str, str], slot: int) -> None:
        from saltform.process.detached import start_detached

        start_detached("saltform.bridge.requested", [str(opts["conf_file"])], json.dumps(dict(asked)), slot)

    return start


def runner_pillar(opts: Mapping[str, Any], settings: Settings) -> Mapping[str, Any]:
    """A runner has no pillar: it is compiled for one id, by default the master's own, as in an orchestration."""
    import salt.pillar

    minion_id = settings.pillar_id or _masters_id(opts)
    grains = dict(opts.get("grains") or {}) | {"id": minion_id}
    pillar = salt.pillar.Pillar(dict(opts), grains, minion_id, opts.get("saltenv") or "base").compile_pillar()
    compiled = check_rendered(pillar, minion_id)
    if ROOT not in compiled:
        where = f"{ROOT} (pillar of {minion_id})"
        raise ConfigError([Problem(where, "no such key", f"{minion_id} targeted in pillar/top.sls")])
    keep_lists(Layout(settings.state_dir), compiled)
    return compiled


def _someone_watches(opts: Mapping[str, Any]) -> bool:
    """Progress goes to stderr when a person or a script called `salt-run`; nobody reads a background run's stderr."""
    return _origin(opts) == SHELL and not opts.get("async") and sys.stderr is not None


def _masters_id(opts: Mapping[str, Any]) -> str:
    """For a minion (`peer_run`) Salt puts that minion's id into the options: its pillar doesn't say who may here."""
    if not _origin(opts).startswith(MINION):
        return str(opts["id"])
    import salt.config

    return str(salt.config.master_config(opts["conf_file"])["id"])


def _origin(opts: Mapping[str, Any]) -> str:
    """`salt-run` itself; or the master, on behalf of salt-api, a schedule or a reactor; or of a minion (`peer_run`).

    For a minion, Salt makes options that look like those of `salt-run` but for the program's name, and the user is
    root, it says.
    """
    if "fun" not in opts:
        return "master"
    return SHELL if opts.get("__cli") == "salt-run" else f"{MINION}{opts['id']}"
