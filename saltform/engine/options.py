"""What a caller can ask of a run, checked once, whatever it came as: YAML from a shell, strings from a form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from saltform.config import suggestion
from saltform.config.reader import parse_duration
from saltform.errors import SaltformError
from saltform.schedule import ON_ERROR

DOCUMENTED = "salt-run -d infrastructure shows all arguments"
_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Options:
    """The options of verbs that are runs. Names are the runner's argument names."""

    components: tuple[str, ...] = ()
    only: bool = False
    refresh: bool = False
    dry_run: bool = False
    replace: tuple[str, ...] = ()
    preserve_data: bool = True
    yes: bool = False
    to: str = ""  # a run or a release to go back to
    heal: bool = False  # of a drift check: apply back; of a deploy: it is what does so, and leaves minions alone
    minions: bool = False  # with `heal`: run the highstate of the component's minions, too
    over: float = 0.0  # seconds: checks start evenly over this window
    every: float = 0.0  # seconds: what was checked less than that ago is left out
    wait: float = 0.0  # seconds that each component waits for a run that holds it
    parallelism: int = 0  # 0: what pillar says
    on_error: str = ""  # '': what pillar says

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Options:
        """Options from a caller's arguments; None means "not given"."""
        known = {item.name: item for item in fields(cls)}
        values: dict[str, Any] = {}
        for name, value in given.items():
            if name not in known:
                raise bad(name, f"known are {', '.join(known)}.{suggestion(name, known)}")
            if value is not None:
                values[name] = _READERS[str(known[name].type)](name, value)
        if values.get("on_error") and values["on_error"] not in ON_ERROR:
            raise bad("on_error", f"found {values['on_error']!r}, expected one of {', '.join(ON_ERROR)}")
        return cls(**values)


def bad(name: str, detail: str) -> SaltformError:
    return SaltformError(f"bad argument {name!r}", detail, DOCUMENTED)


def check_known(function: str, given: Iterable[str], known: Iterable[str], fix: str = DOCUMENTED) -> None:
    """Refuse what a function doesn't have, with the nearest name. What begins with underscores is Salt's own."""
    for name in given:
        if name not in known and not name.startswith("__"):
            detail = f"{function} has no such argument.{suggestion(name, known)}"
            raise SaltformError(f"bad argument {name!r}", detail, fix)


def flag(name: str, value: Any) -> bool:
    found = _WORDS.get(str(value).strip().lower())
    if found is None:
        raise bad(name, f"found {value!r}, expected True or False")
    return found


def is_dry(dry_run: Any) -> bool:
    """Whether a verb is only to say what it would do."""
    return flag("dry_run", False if dry_run is None else dry_run)


def _names(name: str, value: Any) -> tuple[str, ...]:
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, Sequence) or not all(isinstance(item, str | int) for item in items):
        raise bad(name, f"found {value!r}, expected names separated by commas, or a list")
    return tuple(str(item).strip() for item in items if str(item).strip())


def _whole(name: str, value: Any) -> int:
    try:
        number = int(str(value))
    except ValueError:
        number = 0
    if not 1 <= number <= 256:
        raise bad(name, f"found {value!r}, expected a whole number from 1 to 256")
    return number


def _text(_name: str, value: Any) -> str:
    return str(value)


def _seconds(name: str, value: Any) -> float:
    seconds = parse_duration(value)
    if seconds is None:
        raise bad(name, f"found {value!r}, expected a time such as 30s, 5m or 1h")
    return seconds


_READERS = {"float": _seconds, "bool": flag, "tuple[str, ...]": _names, "int": _whole, "str": _text}
