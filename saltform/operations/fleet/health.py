"""An environment's `health:`: a Salt function or state that must be true on its minions."""

from __future__ import annotations

from collections.abc import Mapping

from saltform.config.types import Health
from saltform.errors import SaltformError
from saltform.fleet import Answer
from saltform.operations.run.services import Services


def unwell(services: Services, health: Health) -> str:
    """Why the environment is not well; empty when every minion says that it is. Who doesn't answer isn't."""
    asked = " ".join((health.function, *health.arguments))
    try:
        answers = services.fleet.call(
            health.targets, health.function, {}, health.timeout, services.cancel, health.arguments
        )
    except SaltformError as error:
        return f"{asked}: {error.summary}: {error.detail}"
    if not answers:
        return f"{asked}: no minion matches {health.targets!r}"
    bad = [name for name, answer in sorted(answers.items()) if answer is None or not _true(answer)]
    return f"{asked} is not true on {', '.join(bad)}" if bad else ""


def _true(answer: Answer) -> bool:
    """A function's answer, or the results of a state: none of them failed, and there is one."""
    said = answer.value
    if answer.retcode:
        return False
    if isinstance(said, Mapping) and said and all(isinstance(item, Mapping) for item in said.values()):
        return all(item.get("result") is True for item in said.values())
    return said is True or (isinstance(said, Mapping) and said.get("result") is True)
