"""request: a minion asks for a run by an event, and gets its outputs back by one.

1. Only the reactor comes here: nobody else can say for whom they speak. It starts a process for the request and is
   done: no thread of the reactor waits for a minion.
2. The environment's `requests:` names the ids that may ask, and for what: a plan, a deploy, a drift check. Never an
   approval: a plan that needs a person waits for one, whoever asked. Who is on no list starts nothing.
3. The id on an event can be forged by another minion that makes the message by hand. So the minion is asked itself:
   it has put the digest of its request into its own data store, where only it can. It exchanges exactly that digest
   for a note that it was used: one request, one run, however often its event is sent and however many masters hear
   it; and a request for anything else changes nothing there. Its answer could be forged, too, so it proves that it
   has the minion's private key (`requests/proof.py`).
   A request with a name that no request has changes nothing either: it is refused with the nearest one.
4. Then the pillar is compiled, asked once more, and the run begins.
5. The answer is an event on the master's bus and on the minion's own: how the run ended, and its ordinary outputs.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
from collections.abc import Mapping
from typing import Any

from saltform.config import load
from saltform.engine.result import result
from saltform.engine.services import MINION, Services
from saltform.errors import SaltformError
from saltform.events import answer_tag
from saltform.features.requests.form import Asked, refused
from saltform.features.requests.lists import check_may_ask, check_on_a_list
from saltform.features.requests.proof import Question
from saltform.features.requests.slots import expect, take_slot
from saltform.verbs.permission import check_reactor

CONFIRM = "saltform_request.confirm"  # a function of the minion's
USED = "used "  # and the digest: that request has its run
PATIENCE = 30.0  # seconds for a minion to answer
SLOWED = 10.0  # seconds that a request which nobody confirmed keeps its slot
LARGEST = 200_000  # bytes of outputs in one event: larger ones are cut by Salt


class SeenBefore(SaltformError):
    """The same event once more, or on another master: whoever took the request answers."""


def request(services: Services, verb: str, minion: str, event: Mapping[str, Any]) -> dict[str, Any]:
    """Start the process that asks the minion and runs what it confirms."""
    check_reactor(services, "use the verb itself")
    asked = Asked.read(verb, minion, event)
    asked.check_minion()
    check_on_a_list(services.layout, asked)
    slot = take_slot(services.layout, asked)
    try:
        services.start_request(dataclasses.asdict(asked), slot)
    finally:
        os.close(slot)  # the process has its own copy
    return result("request", minion=minion, summary=f"{minion} is asked whether it wants this {asked.verb}")


def confirm(services: Services, asked: Asked) -> None:
    """In the request's own process, without any pillar: raise unless the minion itself asks for exactly this."""
    asked.check_form()
    check_may_ask(services.layout, asked)
    question = Question(services.minions, asked.minion)
    given = {"digest": asked.digest, "sealed": question.sealed}
    answers = services.minions.call((asked.minion,), CONFIRM, given, PATIENCE, services.cancel)
    answer = answers.get(asked.minion)
    if answer is None:
        raise refused(asked.minion, "it does not answer")
    held = question.held(answer.value)
    if held == asked.digest:
        return
    if held == USED + asked.digest:
        raise SeenBefore("a minion's request came twice", f"{asked.minion!r}: it has its run")
    expect(services.layout, asked.minion, held)
    raise refused(asked.minion, "it does not say that it asked for this: its data store has another request, or none")


def fulfil(services: Services, asked: Asked) -> dict[str, Any]:
    """The run that a minion has confirmed; `services` has the pillar now."""
    environment = load(services.pillar, asked.environment, has_orphans=lambda _: True).environment(asked.environment)
    if asked.verb not in environment.requests.get(asked.minion, ()):
        raise refused(asked.minion, f"it may not ask for a {asked.verb} of {asked.environment} any more")
    services.author = services.origin = f"{MINION}{asked.minion}"
    operation = getattr(importlib.import_module(f"saltform.verbs.{asked.verb}"), asked.verb)
    returned: dict[str, Any] = operation(services, asked.environment, {"components": asked.components or None})
    return returned


def answer(services: Services, asked: Asked, returned: Mapping[str, Any]) -> None:
    """How it ended, on the master's bus and on the minion's own."""
    keys = ("verb", "environment", "run", "retcode", "success", "summary", "error", "outputs")
    told = {key: returned[key] for key in keys if key in returned} | {"minion": asked.minion, "request": asked.nonce}
    if len(json.dumps(told.get("outputs", {}), default=str)) > LARGEST:
        told["outputs"] = {}
        told["note"] = "the outputs are too large for an event: salt-run infrastructure.outputs has them"
    tag = answer_tag(asked.minion)
    services.events.fire(tag, told)
    try:
        services.minions.call((asked.minion,), "event.fire", {"data": told, "tag": tag}, PATIENCE, services.cancel)
    except SaltformError:
        return  # it is on the master's bus, and the run on record
