"""Which minions may ask for what, on disk: an event costs no compile of the pillar before its sender is on a list.

Every call of the runner that has compiled the pillar leaves a copy of the environments' `requests:`. The copy keeps
strangers out; who is in it is looked up once more in the pillar itself before anything runs.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from saltform.config.load import ROOT
from saltform.errors import SaltformError
from saltform.features.requests.form import Asked, refused
from saltform.files import write_atomic
from saltform.layout import Layout

log = logging.getLogger(__name__)

Lists = Mapping[str, Mapping[str, list[str]]]  # environment → minion → verbs


def keep_lists(layout: Layout, pillar: Mapping[str, Any]) -> None:
    """Put what the pillar says on disk, if it differs from what is there."""
    lists = _of_pillar(pillar)
    content = json.dumps(lists, sort_keys=True).encode()
    try:
        there = layout.request_lists.read_bytes() if layout.request_lists.exists() else b"{}"
        if content != there:
            write_atomic(layout.request_lists, content)
    except (OSError, SaltformError) as error:  # the verb at hand doesn't need it
        log.warning("the list of minions that may ask for runs can't be written: %s", error)


def check_on_a_list(layout: Layout, asked: Asked) -> None:
    """Raise unless the minion may ask for something somewhere."""
    if not any(asked.minion in minions for minions in _on_disk(layout).values()):
        raise _not_on_the_list(asked, "it is on no environment's list")


def check_may_ask(layout: Layout, asked: Asked) -> None:
    """Raise unless the minion may ask for this verb in this environment, as far as is known here."""
    if asked.verb not in _on_disk(layout).get(asked.environment, {}).get(asked.minion, ()):
        raise _not_on_the_list(asked, f"it may not ask for a {asked.verb} of {asked.environment}")


def _not_on_the_list(asked: Asked, why: str) -> SaltformError:
    error = refused(asked.minion, f"{why} (infrastructure:environments:…:requests)")
    error.fix = "put it on the list; any verb of the runner reads that: salt-run infrastructure.validate"
    return error


def _of_pillar(pillar: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    """Whatever else is wrong there: that is for those to say who read all of it."""
    root = pillar.get(ROOT)
    environments = root.get("environments") if isinstance(root, Mapping) else None
    lists = {}
    for name, tree in environments.items() if isinstance(environments, Mapping) else ():
        listed = tree.get("requests") if isinstance(tree, Mapping) else None
        if isinstance(listed, Mapping) and listed:
            lists[str(name)] = {
                str(minion): [str(verb) for verb in verbs]
                for minion, verbs in listed.items()
                if isinstance(verbs, list)
            }
    return lists


def _on_disk(layout: Layout) -> Lists:
    try:
        found = json.loads(layout.request_lists.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
