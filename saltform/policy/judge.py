"""All rules of an environment, and what they say about a plan.

1. The built-in rules have the level that pillar gives them, or `warn`.
2. Rules in files are fetched, and all are read, when the first plan is judged, once for each run.
3. A rule that can't be fetched, read or run denies every plan, and says why: nothing is applied unjudged.
4. Reading a plan's values costs a process. A rule in a file gets them always, a built-in one that only warns never
   is the reason for it: then it judges what it can without them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from saltform.config.policies import IGNORE, SUFFIXES, Policies
from saltform.plan import Change, Plan, dangers
from saltform.plan.dangers import CHECKS, NEED_NO_VALUES
from saltform.policy.python_rules import PythonRule
from saltform.policy.rego_rules import RegoRule
from saltform.policy.verdicts import APPROVE, DENY, WARN, Verdict

NOT_TOUCHED = "not-touched"
Fetch = Callable[[str], Path]  # a folder of the file server → where it is on disk


class Rule(Protocol):
    name: str

    def judge(self, plan: Mapping[str, Any]) -> list[Verdict]: ...


_KINDS: dict[str, Callable[[str, str], Rule]] = {".py": PythonRule, ".rego": RegoRule}


class BrokenRule:
    """Stands for a rule that could not be had."""

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        self._why = why

    def judge(self, plan: Mapping[str, Any]) -> list[Verdict]:
        return [Verdict(self.name, DENY, "", self._why)]


class Judge:
    """The rules of one environment, for one run. Used by several threads."""

    def __init__(self, policies: Policies, fetch: Fetch) -> None:
        self._policies = policies
        self._fetch = fetch
        self._lock = threading.Lock()
        self._rules: list[Rule] | None = None

    @property
    def needs_values(self) -> bool:
        strict = [rule for rule, level in self._policies.levels.items() if level not in (WARN, IGNORE)]
        return self._policies.custom or any(rule not in {*NEED_NO_VALUES, NOT_TOUCHED} for rule in strict)

    @property
    def can_ask(self) -> bool:
        """Whether any rule could want a person."""
        return self._policies.custom or APPROVE in self._policies.levels.values()

    def judge(self, plan: Plan, about: Mapping[str, Any]) -> list[Verdict]:
        """Every verdict on a plan. `about` says what it is a plan of."""
        found = [*self._built_in(plan, CHECKS), *self._outside(plan, about)]
        rules = self._loaded()
        if rules:
            shown = {**about, "changes": [change.as_dict() for change in plan]}
            found += [verdict for rule in rules for verdict in _judged(rule, shown)]
        return found

    def judge_actions(self, changes: list[Change], about: Mapping[str, Any]) -> list[Verdict]:
        """What can be said of actions alone, without values."""
        return [*self._built_in(changes, NEED_NO_VALUES), *self._outside(changes, about)]

    def _outside(self, changes: Iterable[Change], about: Mapping[str, Any]) -> Iterator[Verdict]:
        """Changes of something that nobody touched, but for those that were asked for by name."""
        level, why = self._policies.levels[NOT_TOUCHED], about.get("untouched")
        if why and level != IGNORE and any(_is_news(change) for change in changes):
            yield Verdict(NOT_TOUCHED, level, "", why)

    def _built_in(self, changes: Iterable[Change], rules: Iterable[str]) -> list[Verdict]:
        levels = self._policies.levels
        wanted = [rule for rule in CHECKS if rule in rules and levels[rule] != IGNORE]
        return [Verdict(each.rule, levels[each.rule], each.address, each.why) for each in dangers(changes, wanted)]

    def _loaded(self) -> list[Rule]:
        with self._lock:
            if self._rules is None:
                self._rules = [rule for source in self._policies.sources for rule in self._load(source)]
                self._rules += [_made(name, partial(str, text)) for name, text in self._policies.texts]
            return self._rules

    def _load(self, source: str) -> list[Rule]:
        try:
            if not source.endswith(SUFFIXES):
                folder = self._fetch(source)
                files = sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES)
                if not files:
                    return [BrokenRule(source, "the policy folder has no .py or .rego file in it")]
                return [_read(str(path.relative_to(folder)), path) for path in files]
            folder_of, _, name = source.rpartition("/")
            return [_read(name, self._fetch(folder_of) / name)]
        except Exception as error:
            return [BrokenRule(source, f"the policy could not be fetched: {error}")]


def _is_news(change: Change) -> bool:
    return change.action != "read" and change.reason not in ("requested", "replace_by_request")


def _read(name: str, path: Path) -> Rule:
    return _made(name, lambda: path.read_text(encoding="utf-8"))


def _made(name: str, text: Callable[[], str]) -> Rule:
    try:
        return _KINDS[Path(name).suffix](name, text())
    except ImportError as error:
        return BrokenRule(name, f"the policy can't be run: {error}")
    except FileNotFoundError:
        return BrokenRule(name, "the policy file is missing")
    except (Exception, SystemExit) as error:
        return BrokenRule(name, f"the policy can't be read: {_said(error)}")


def _judged(rule: Rule, plan: Mapping[str, Any]) -> list[Verdict]:
    try:
        return rule.judge(plan)
    except (Exception, SystemExit) as error:
        return [Verdict(rule.name, DENY, "", f"the policy crashed: {_said(error)}")]


def _said(error: BaseException) -> str:
    """In a line: an error of Rego has its whole syntax tree in it."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
