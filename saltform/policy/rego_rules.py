"""A file of Rego (v1): its rules `deny`, `approve` and `warn`, in any package, judge `input`, the plan."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from saltform.config.policies import LEVELS
from saltform.policy.verdicts import NoVerdict, Verdict, verdicts

_PACKAGE = re.compile(r"^\s*package\s+([A-Za-z_][\w.]*)\s*$", re.MULTILINE)
_RULE = re.compile(rf"^(?:default\s+)?(?:{'|'.join(LEVELS)})\b", re.MULTILINE)


class RegoRule:
    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self._source = source
        package = _PACKAGE.search(source)
        if package is None:
            raise NoVerdict("it has no `package`")
        if not _RULE.search(source):
            raise NoVerdict(f"it has none of the rules {', '.join(LEVELS)}")
        self._package = package[1]
        self._interpreter()  # a mistake in the text is found before anything is judged

    def _interpreter(self) -> Any:
        """One for each plan: they are not made for several threads."""
        from regopy import Interpreter, LogLevel

        interpreter = Interpreter()
        interpreter.log_level = LogLevel.NONE  # it would write to stdout
        interpreter.strict_built_in_errors = True
        interpreter.add_module(self.name, self._source)
        return interpreter

    def judge(self, plan: Mapping[str, Any]) -> list[Verdict]:
        interpreter = self._interpreter()
        interpreter.set_input(plan)
        output = interpreter.query(f"found = data.{self._package}")
        if not output.ok():
            raise NoVerdict(f"rego: {output}")
        found = json.loads(str(output.binding("found")))
        return [verdict for level in LEVELS for verdict in verdicts(self.name, level, _listed(found.get(level)))]


def _listed(found: Any) -> Any:
    """Rego's older `deny[message] { … }` gives a mapping of messages to true."""
    if isinstance(found, Mapping) and found and all(value is True for value in found.values()):
        return list(found)
    return found
