"""The process of one request: started by the reactor's call, it asks the minion back, and runs what it confirms."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from saltform.bridge.runner import runner_pillar, runner_services
from saltform.engine.result import failure
from saltform.engine.services import Services
from saltform.errors import SaltformError
from saltform.features.requests.form import Asked
from saltform.process.detached import DESCRIPTOR, leave_parent
from saltform.verbs.permission import REACTOR
from saltform.verbs.request import SLOWED, SeenBefore, answer, confirm, fulfil

log = logging.getLogger(__name__)


def main() -> None:
    """`sys.argv[1]` is the master's configuration file, standard input has the request, DESCRIPTOR is its slot."""
    leave_parent()
    asked = Asked(**json.loads(sys.stdin.buffer.read()))
    import salt.config

    opts = salt.config.master_config(sys.argv[1])
    _log_as_the_master(opts)
    serve(opts, asked, lambda: os.close(DESCRIPTOR))


def serve(opts: Mapping[str, Any], asked: Asked, free_slot: Callable[[], None]) -> None:
    """Confirmed by the minion, run, answered."""
    services = runner_services({"__opts__": opts, "__user__": REACTOR}, "request")
    try:
        confirm(services, asked)
    except SaltformError as error:
        _refuse(services, asked, error)
    else:
        free_slot()
        answer(services, asked, _run(opts, services, asked))
    finally:
        services.close()


def _refuse(services: Services, asked: Asked, error: SaltformError) -> None:
    """The slot is kept for a while: whoever tries under a minion's name is slow."""
    log.warning("%s", error)
    if not isinstance(error, SeenBefore):
        answer(services, asked, failure("request", error))
    services.cancel.wait(SLOWED)


def _run(opts: Mapping[str, Any], services: Services, asked: Asked) -> dict[str, Any]:
    try:
        services.pillar = runner_pillar(opts, services.settings)
        return fulfil(services, asked)
    except Exception as error:
        return failure("request", error)


def _log_as_the_master(opts: Mapping[str, Any]) -> None:
    """Warnings go where the master's own go: nobody reads this process's streams."""
    import salt._logging

    level = opts.get("log_level_logfile") or opts.get("log_level") or "warning"
    try:
        salt._logging.setup_logfile_handler(
            opts["log_file"],
            log_level=level,
            log_format=opts["log_fmt_logfile"],
            date_format=opts["log_datefmt_logfile"],
            user=opts["user"],
        )
    except Exception:  # a log that can't be opened stops nobody
        log.exception("the master's log can't be written")
