"""Whether a minion matches a compound expression, while its pillar is compiled on the master."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from saltform.config import load_settings

_BY_PILLAR = re.compile(r"\b[IJ]@")


def matcher(opts: Mapping[str, Any], minion: str) -> Callable[[str], bool]:
    """Salt's own matchers; by pillar with the master's pillar alone.

    What an ext_pillar is handed as pillar has the minion's own words in it (`pillar.items pillar={…}` sends some) and
    is of the environment that the minion asked for (`pillarenv`, `saltenv`). So it is compiled once more if an
    expression asks for it: without those words, without ext_pillars, in the environment of the master's settings.
    """
    known: dict[str, Any] = {}
    pillarenv = load_settings(opts).pillarenv

    def pillar() -> dict[str, Any]:
        import salt.pillar

        if "pillar" not in known:
            mine = {name: value for name, value in opts.items() if name not in ("pillar", "ext_pillar")}
            mine |= {"saltenv": pillarenv, "pillarenv": pillarenv}
            compiled = salt.pillar.Pillar(mine, dict(opts["grains"]), minion, pillarenv, pillarenv=pillarenv)
            known["pillar"] = compiled.compile_pillar(ext=False)
        return known["pillar"] or {"": ""}  # never empty: the matcher would look for another one

    def match(expression: str) -> bool:
        import salt.loader

        if "compound" not in known:
            known["compound"] = salt.loader.matchers(dict(opts))["compound_match.match"]
        mine = dict(opts) | ({"pillar": pillar()} if _BY_PILLAR.search(expression) else {})
        return bool(known["compound"](expression, opts=mine, minion_id=minion))

    return match
