"""`policies:` of the infrastructure or of an environment: which rules judge its plans, and how strictly.

policies:
  - salt://policies                       # every .py and .rego file in this folder
  - salt://policies/network.rego          # or one of them
  - {rule: open-to-world, level: deny}    # a built-in rule
  - {name: owners, rego: "package owners …"}    # a rule that stands here, in Rego or in Python
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from saltform.config.names import NAME, NAME_RULE, nearest
from saltform.config.reader import Reader

LEVELS = ("deny", "approve", "warn")
IGNORE = "ignore"
BUILT_IN: Mapping[str, str] = {
    "data-destroyed": "warn",
    "open-to-world": "warn",
    "public-address": "warn",
    "protection-removed": "warn",
    "not-touched": "warn",
}
SUFFIXES = (".py", ".rego")
_LANGUAGES = {"python": ".py", "rego": ".rego"}
_EXPECTED = (
    "salt://FOLDER, salt://FOLDER/FILE.py, salt://FOLDER/FILE.rego, {rule: BUILT-IN, level: LEVEL} "
    "or {name: NAME, rego: TEXT}"
)


@dataclass(frozen=True, slots=True)
class Policies:
    """The level of each built-in rule, and where the other rules are."""

    levels: Mapping[str, str] = field(default_factory=lambda: BUILT_IN)
    sources: tuple[str, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()  # the rules that stand in pillar itself: a file's name, and what is in it

    @property
    def custom(self) -> bool:
        """Whether there are rules besides the built-in ones."""
        return bool(self.sources or self.texts)


def read_policies(reader: Reader, base: Policies) -> Policies:
    """`base` with what this mapping's `policies` add."""
    listed = reader.tree.get("policies")
    if listed is None:
        return base
    if not isinstance(listed, list):
        reader.problem("policies", listed, f"a list of {_EXPECTED}")
        return base
    levels, sources, texts = dict(base.levels), list(base.sources), list(base.texts)
    for place, item in enumerate(listed):
        where = f"policies:{place}"
        if isinstance(item, Mapping) and "rule" not in item:
            texts += _read_text(reader.nested(where, item))
        elif isinstance(item, Mapping):
            levels.update(_read_level(reader.nested(where, item)))
        elif isinstance(item, str) and _is_source(item):
            sources.append(item.rstrip("/"))
        else:
            reader.problem(where, item, _EXPECTED)
    return Policies(levels, tuple(dict.fromkeys(sources)), tuple(dict.fromkeys(texts)))


def _read_text(reader: Reader) -> list[tuple[str, str]]:
    reader.only(("name", *_LANGUAGES))
    name, said = reader.text("name"), [key for key in _LANGUAGES if key in reader.tree]
    if not NAME.fullmatch(name):
        reader.problem("name", name, NAME_RULE)
    if len(said) != 1 or not reader.text(said[0]):
        reader.problem("", reader.tree, _EXPECTED)
        return []
    return [(f"{name}{_LANGUAGES[said[0]]}", reader.text(said[0]))]


def _read_level(reader: Reader) -> dict[str, str]:
    reader.only(("rule", "level"))
    rule = reader.text("rule")
    if rule not in BUILT_IN:
        reader.problem("rule", rule, "one of: " + ", ".join(BUILT_IN), nearest(rule, BUILT_IN))
        return {}
    if reader.tree.get("level") is None:
        reader.problem("level", None, "one of: " + ", ".join((*LEVELS, IGNORE)))
    return {rule: reader.choice("level", BUILT_IN[rule], (*LEVELS, IGNORE))}


def _is_source(item: str) -> bool:
    """A folder of the file server, or a file of rules in one."""
    parts = [part for part in item.removeprefix("salt://").split("/") if part]
    if not item.startswith("salt://") or not parts or ".." in parts:
        return False
    is_file = "." in parts[-1]
    return not is_file or (len(parts) > 1 and parts[-1].endswith(SUFFIXES))
