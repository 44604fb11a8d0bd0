"""request: a minion asks for a run by an event, and gets its outputs back by one.

1. Only the reactor comes here: nobody else can say for whom they speak.
2. The environment's `requests:` names the ids that may ask, and for what: a plan, a deploy, a drift check. Never an
   approval: a plan that needs a person waits for one, whoever asked.
3. The id on an event can be forged by another minion that makes the message by hand. So the minion is asked itself:
   it has put the name of its request into its own data store, where only it can. It is taken out there: one event,
   one run, however often it is sent and however many masters hear it.
4. The answer is an event on the master's bus and on the minion's own: how the run ended, and its ordinary outputs.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
from collections.abc import Mapping
from typing import Any

from saltform.config import load
from saltform.config.load import REQUESTABLE
from saltform.errors import NotAllowed, SaltformError
from saltform.events import answer_tag
from saltform.operations.run.options import bad
from saltform.operations.run.result import failure
from saltform.operations.run.services import MINION, SHELL, Services

REACTOR = "Reactor"  # who Salt says the caller is, and no argument
KEY = "saltform_request"  # in the minion's data store
PATIENCE = 30.0  # seconds for a minion to answer
LARGEST = 200_000  # bytes of outputs in one event: larger ones are cut by Salt
_KEYS = ("environment", "components", "request")


def request(services: Services, verb: str, minion: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Run what the minion asks for, if it may; the run's return."""
    if services.author != REACTOR and services.origin != SHELL:
        raise NotAllowed(
            f"{services.author} can't ask for a minion",
            "only the reactor knows who sent an event",
            "use the verb itself",
        )
    if not minion:  # Salt leaves a traceback in the master's log when it is to call nobody
        raise bad("minion", "found nothing, expected the id of the minion that asks")
    given = {name: asked[name] for name in _KEYS if asked.get(name) is not None}
    name = str(given.get("request", ""))
    try:
        environment = _check(services, verb, minion, given)
        mine = dataclasses.replace(services, author=f"{MINION}{minion}", origin=f"{MINION}{minion}")
        operation = getattr(importlib.import_module(f"saltform.operations.{verb}"), verb)
        returned: dict[str, Any] = operation(mine, environment, {"components": given.get("components")})
    except SaltformError as error:
        returned = failure("request", error)
    _answer(services, minion, name, returned)
    return returned


def _check(services: Services, verb: str, minion: str, given: Mapping[str, Any]) -> str:
    if verb not in REQUESTABLE:
        raise _refused(minion, f"found {verb!r}, expected one of {', '.join(REQUESTABLE)}")
    environment = str(given.get("environment") or "")
    if not environment:
        raise bad("environment", "a request names the environment that it is about")
    allowed = load(services.pillar, environment, has_orphans=lambda _: True).environment(environment).requests
    if verb not in allowed.get(minion, ()):
        raise _refused(
            minion, f"it may not ask for a {verb} of {environment} (infrastructure:environments:…:requests)"
        )
    name = given.get("request")
    if not isinstance(name, str) or not name or not _confirmed(services, minion, name):
        raise _refused(minion, f"it does not say that it asked: its data store has no {KEY} of that name")
    return environment


def _confirmed(services: Services, minion: str, name: str) -> bool:
    def answers(function: str) -> bool:
        found = services.fleet.call((minion,), function, {"key": KEY}, PATIENCE, services.cancel).get(minion)
        return found is not None and found.value == name

    return answers("data.get") and answers("data.pop")  # a stranger's event takes nothing out


def _refused(minion: str, why: str) -> NotAllowed:
    return NotAllowed("a minion's request was refused", f"{minion!r}: {why}", "docs/events.md says how to ask")


def _answer(services: Services, minion: str, name: str, returned: Mapping[str, Any]) -> None:
    keys = ("verb", "environment", "run", "retcode", "success", "summary", "error", "outputs")
    told = {key: returned[key] for key in keys if key in returned} | {"minion": minion, "request": name}
    if len(json.dumps(told.get("outputs", {}), default=str)) > LARGEST:
        told["outputs"] = {}
        told["note"] = "the outputs are too large for an event: salt-run infrastructure.outputs has them"
    tag = answer_tag(minion)
    services.events.fire(tag, told)
    try:
        services.fleet.call((minion,), "event.fire", {"data": told, "tag": tag}, PATIENCE, services.cancel)
    except SaltformError:
        return  # it is on the master's bus, and the run on record
