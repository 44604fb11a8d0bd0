"""What an orchestration is given by `pillar=`: passed on to a verb of the runner, or refused with the nearest name.

1. *Given* are the top-level keys of its pillar that the master's own pillar doesn't have, or has otherwise: Salt lays
   what is given over the master's own, and keeps no note of what it was.
2. A key is an argument of the verb, or one that the SLS itself reads (`own_keys`). Any other is refused, all at once,
   while the SLS is rendered: before anything runs.
3. An argument that the master's own pillar has exactly so may be given or not. Nothing is run then: without a
   `components` or `dry_run` that was given, everything would be destroyed.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from saltform.config import suggestion
from saltform.errors import SaltformError

OWN_KEYS = "own_keys"


def given_options(opts: Mapping[str, Any], verb: str, own_keys: Sequence[str] = ()) -> dict[str, Any]:
    """The arguments of the verb that an orchestration is given. `opts` are those of its state run."""
    return choose(verb, opts["pillar"], _masters_own_pillar(opts), _arguments(opts, verb), own_keys)


def choose(
    verb: str,
    pillar: Mapping[str, Any],
    masters_own: Mapping[str, Any],
    arguments: Sequence[str],
    own_keys: Sequence[str] = (),
) -> dict[str, Any]:
    """Of the keys that `pillar` has beyond the master's own, those that are arguments of the verb."""
    listed = pillar.get(OWN_KEYS, [])
    if not isinstance(listed, list):
        raise SaltformError(f"{OWN_KEYS} is no list", f"found {listed!r}", f"{OWN_KEYS}: [{listed}]")
    own = [*own_keys, *listed, OWN_KEYS]
    given = {
        name: value
        for name, value in pillar.items()
        if name not in own and (name not in masters_own or masters_own[name] != value)
    }
    for name in sorted(set(arguments).intersection(pillar, masters_own).difference(own, given, ["environment"])):
        if not isinstance(pillar[name], Mapping):  # no argument is one
            raise _not_told(verb, name, pillar[name])
    unknown = [name for name in given if name not in arguments]
    if unknown:
        raise _refused(verb, unknown, [*arguments, *own])
    if not pillar.get("environment"):
        raise SaltformError("no environment was named", "", """add it: pillar='{"environment": "staging"}'""")
    return {"environment": pillar["environment"], **given}


def _refused(verb: str, unknown: Iterable[str], known: Sequence[str]) -> SaltformError:
    return SaltformError(
        "bad key in the pillar of this orchestration, nothing was started",
        " ".join(f"{name!r} is no argument of {verb}.{suggestion(name, known)}" for name in unknown),
        f"salt-run -d infrastructure.{verb} shows all arguments; a key that your own SLS reads stands in {OWN_KEYS}",
    )


def _not_told(verb: str, name: str, value: Any) -> SaltformError:
    return SaltformError(
        f"it can't be told whether {name!r} was given to this orchestration, nothing was started",
        f"the master's own pillar has {name}: {value!r} at its top, too, and {name} is an argument of {verb}",
        f"salt-run infrastructure.{verb} ENVIRONMENT …; or give that key of the master's pillar another name",
    )


def _masters_own_pillar(opts: Mapping[str, Any]) -> Mapping[str, Any]:
    """As Salt compiles it for an orchestration that is given nothing. `pillar.items` may answer from a cache."""
    import salt.pillar

    mine = {name: value for name, value in opts.items() if name != "pillar"}
    compiler = salt.pillar.Pillar(mine, opts["grains"], opts["id"], opts["saltenv"], pillarenv=opts.get("pillarenv"))
    compiled: dict[str, Any] = compiler.compile_pillar()
    if opts.get("pillar_opts"):
        compiled["master"] = opts["pillar"].get("master")  # the options of each compiler: never twice the same
    return compiled


def _arguments(opts: Mapping[str, Any], verb: str) -> list[str]:
    import salt.loader

    return inspect.getfullargspec(salt.loader.runner(dict(opts))[f"infrastructure.{verb}"]).args
