"""Outputs as pillar, for one minion: what the ext_pillar `terraform_outputs` returns.

1. Runs leave an index for each environment: where each component's state is, and who may see its outputs.
2. Ordinary outputs are for minions that match the component's `targets`; an output with `targets` of its own is for
   exactly those named there, by id or by the master's pillar, never by grains. A sensitive output is for them alone.
3. Ordinary outputs are kept on disk, with time and size of the state they were read from: as long as those are the
   same, no state is read. Sensitive values are never kept; they are read from the state whenever they are due.
4. Of a state on a server, runs and `sync_states` keep the outputs on this disk: no compile ever waits for a server.
5. A state or an index that is lost or can't be read is answered with what was read last, and `_status` says so, with
   its age.

Nothing here starts a process or raises: a minion's pillar must not break because of us.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from saltform.config.settings import load_settings
from saltform.errors import SaltformError
from saltform.files import write_atomic
from saltform.layout import Layout
from saltform.tfstate import Output, read

log = logging.getLogger(__name__)

Match = Callable[[str], bool]  # a compound expression → whether the minion matches it
_GLOB = re.compile(r"[\w.*?\[\]-]+")  # a compound expression that is one glob: no need to ask Salt
_WORDS = ("and", "or", "not")
STATUS = "_status"


def outputs_for(minion: str, options: Mapping[str, Any], match: Match) -> dict[str, Any]:
    """`{environment: {component: {output: value}}}` for this minion, and `_status` when something is wrong.

    `options` is Salt's configuration.
    """
    try:
        found = _Reader(minion, Layout(load_settings(options).state_dir), match).everything()
    except SaltformError as error:
        log.error("terraform_outputs: nothing for %s: %s", minion, error)
        return {}
    except Exception:  # a defect of ours must not take the minion's pillar with it
        log.exception("terraform_outputs: nothing for %s", minion)
        return {}
    return found


class _Reader:
    """One compile of one minion's pillar."""

    def __init__(self, minion: str, layout: Layout, match: Match) -> None:
        self._minion = minion
        self._layout = layout
        self._match = match
        self._matched: dict[str, bool] = {}

    def everything(self) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        troubles: dict[str, Any] = {}
        for path in sorted(self._layout.index.glob("*.json")):
            components, trouble = self._environment(path)
            if components:
                tree[path.stem] = components
            if trouble:
                troubles[path.stem] = trouble
        return tree | ({STATUS: troubles} if troubles else {})

    def _environment(self, path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
        kept = _Kept(self._layout.cache / "pillar" / path.name)
        index = kept.index(path)
        visible, troubles = {}, {}
        for name, entry in index.items():
            ordinary, named = self._may_see(entry)
            if not ordinary and not named:
                continue
            plain, seen = kept.outputs(name, entry, named)
            own = entry["outputs"]
            seen.update((key, plain[key]) for key in named if key in plain)
            if ordinary:
                seen.update((key, value) for key, value in plain.items() if key not in own)
            if seen:
                visible[name] = seen
            if trouble := kept.trouble(name) or entry.get("trouble"):
                troubles[name] = trouble
        kept.save()
        if kept.index_trouble and visible:
            troubles["_index"] = kept.index_trouble
        return visible, troubles

    def _may_see(self, entry: Mapping[str, Any]) -> tuple[bool, frozenset[str]]:
        """Whether the minion sees ordinary outputs, and which outputs it is named for."""
        named = frozenset(name for name, who in entry["outputs"].items() if self._meant(who))
        return self._meant(entry["targets"]), named

    def _meant(self, who: str | list[str]) -> bool:
        """A compound expression, or exactly these ids."""
        return self._matches(who) if isinstance(who, str) else self._minion in who

    def _matches(self, expression: str) -> bool:
        if not expression:
            return False
        if expression not in self._matched:
            self._matched[expression] = self._ask(expression)
        return self._matched[expression]

    def _ask(self, expression: str) -> bool:
        if _GLOB.fullmatch(expression) and expression not in _WORDS:
            return fnmatchcase(self._minion, expression)
        try:
            return bool(self._match(expression))
        except Exception as error:  # whatever Salt's matchers make of an expression that doesn't parse
            log.warning("terraform_outputs: targets %r can't be matched: %s", expression, error)
            return False


class _Kept:
    """What was read from one environment's states last, on disk. Never anything sensitive."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tree = _load(path) or {"index": {}, "states": {}}
        self._changed = False
        self.index_trouble: dict[str, str] = {}

    def index(self, path: Path) -> Mapping[str, Any]:
        """The environment's index; the last good one if it can't be read."""
        tree = _load(path)
        if tree is None or not all(map(_is_entry, tree.values())):
            self.index_trouble = {"problem": f"{path} can't be read", "served": "what it said last"}
            log.warning("terraform_outputs: %s can't be read, using what it said last", path)
        elif tree != self._tree["index"]:
            self._tree["index"] = tree
            self._tree["states"] = {name: item for name, item in self._tree["states"].items() if name in tree}
            self._changed = True
        last: Mapping[str, Any] = self._tree["index"]
        return last

    def outputs(
        self, name: str, entry: Mapping[str, Any], named: frozenset[str]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """A component's ordinary outputs, and of the sensitive ones those named."""
        state = entry["state"]
        try:
            stat = os.stat(state)  # noqa: PTH116 (a Path for each of a hundred components costs a millisecond)
        except FileNotFoundError:
            if entry.get("applied"):
                return self._last(name, "the state is gone"), {}
            self._changed |= self._tree["states"].pop(name, None) is not None
            return {}, {}
        except OSError as error:
            return self._last(name, str(error)), {}
        stamp = [stat.st_mtime_ns, stat.st_size, stat.st_ino]
        last = self._tree["states"].get(name)
        if last and last["stamp"] == stamp and not named.intersection(last["sensitive"]) and "trouble" not in last:
            return last["values"], {}
        try:
            outputs = read(Path(state)).outputs if stat.st_size else {}
        except SaltformError as error:
            return self._last(name, error.summary), {}
        secrets = {key: item.value for key, item in outputs.items() if item.sensitive and key in named}
        return self._keep(name, stamp, outputs), secrets

    def trouble(self, name: str) -> dict[str, str]:
        found: dict[str, str] = self._tree["states"].get(name, {}).get("trouble", {})
        return found

    def save(self) -> None:
        if not self._changed:
            return
        try:
            write_atomic(self._path, json.dumps(self._tree).encode(), durable=False)
        except SaltformError as error:  # slower next time, and nothing else
            log.warning("terraform_outputs: %s", error)

    def _keep(self, name: str, stamp: list[int], outputs: Mapping[str, Output]) -> dict[str, Any]:
        values = {key: item.value for key, item in outputs.items() if not item.sensitive}
        entry = {
            "stamp": stamp,
            "values": values,
            "sensitive": [key for key, item in outputs.items() if item.sensitive],
        }
        if self._tree["states"].get(name) != entry:
            self._tree["states"][name] = entry
            self._changed = True
        return values

    def _last(self, name: str, problem: str) -> dict[str, Any]:
        last = self._tree["states"].setdefault(name, {"stamp": [0, 0, 0], "values": {}, "sensitive": []})
        as_of = datetime.fromtimestamp(last["stamp"][0] / 1e9, timezone.utc).isoformat(timespec="seconds")
        trouble = {"problem": problem, "as_of": as_of} if last["stamp"][0] else {"problem": problem}
        if last.get("trouble") != trouble:
            log.warning("terraform_outputs: %s: %s", name, problem)
            last["trouble"] = trouble
            self._changed = True
        values: dict[str, Any] = last["values"]
        return values


def _is_entry(entry: Any) -> bool:
    """What `operations.states.index` writes."""
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("state"), str)
        and isinstance(entry.get("targets"), str | list)
        and isinstance(entry.get("outputs"), dict)
        and all(isinstance(who, str | list) for who in entry["outputs"].values())
    )


def _load(path: Path) -> dict[str, Any] | None:
    try:
        tree = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return tree if isinstance(tree, dict) else None
