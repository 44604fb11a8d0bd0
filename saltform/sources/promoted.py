"""What an environment with `promoted_from:` is made of: releases that were promoted to it, or that pillar pins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from saltform.config import Infrastructure, load
from saltform.config.load import ROOT
from saltform.config.promotion import Release
from saltform.errors import ConfigError, NotPromoted, Problem
from saltform.runlog import RunLog
from saltform.runlog.releases import Promoted

SHORTEST = 12  # letters of a digest that a person types
Wanted = Mapping[str, tuple[str, str]]  # component → release, and the binary that applied it where it was proved


@dataclass
class PromotedSet:
    """The releases of one environment: those on record, and those that this operation is about."""

    on_record: dict[str, Promoted] = field(default_factory=dict)
    wanted: dict[str, tuple[str, str]] = field(default_factory=dict)
    pinned: dict[str, str] = field(default_factory=dict)  # component → the release that pillar names instead

    def releases(self, runlog: RunLog, environment: str) -> dict[str, Release]:
        known = runlog.releases.contents(environment) if self.wanted else {}
        return {
            name: Release(digest, known.get(digest) or runlog.release(digest), binary)
            for name, (digest, binary) in self.wanted.items()
        }

    def notes(self, environment: str) -> list[str]:
        """A pin wins over what was promoted, and that is said."""
        return [
            f"{name} stays at release {digest[:SHORTEST]}: {ROOT}:releases:{environment}:{name} pins it"
            + (f" (promoted: {self.on_record[name].release[:SHORTEST]})" if name in self.on_record else "")
            for name, digest in self.pinned.items()
        ]


def load_on_record(pillar: Mapping[str, Any], runlog: RunLog, environment: str | None) -> Infrastructure:
    """Pillar, with the releases that were promoted, whatever it pins. Module files are not looked at."""

    def on_record(name: str, _source: str, _pins: Mapping[str, str]) -> dict[str, Release]:
        rows = runlog.releases.promoted(name)
        wanted = {component: (row.release, row.binary_path) for component, row in rows.items()}
        return PromotedSet(wanted=wanted).releases(runlog, name)

    return load(pillar, environment or "", has_orphans=lambda _: True, promoted=on_record)


def promoted_set(
    runlog: RunLog, environment: str, source: str, pins: Mapping[str, str], may_be_empty: bool = False
) -> PromotedSet:
    """What a deploy of the environment deploys."""
    log = runlog.releases
    found = PromotedSet(log.promoted(environment))
    found.wanted = {name: (row.release, row.binary_path) for name, row in found.on_record.items()}
    for name, digest in pins.items():
        whole = _whole(runlog, environment, name, digest)
        if found.wanted.get(name, ("", ""))[0] != whole:
            found.pinned[name] = whole
            found.wanted[name] = (whole, log.binary_of(whole) or "auto")
    if not may_be_empty and not found.wanted and not runlog.components(environment):
        raise NotPromoted(environment, source)
    return found


def _whole(runlog: RunLog, environment: str, name: str, digest: str) -> str:
    known = runlog.releases.starting_with(digest) if len(digest) >= SHORTEST else []
    if len(known) != 1:
        found = f"{digest!r}, which is {'no release on record' if not known else 'the beginning of several'}"
        expected = "a release, or its first twelve letters, as `releases` shows it"
        raise ConfigError([Problem(f"{ROOT}:releases:{environment}:{name}", found, expected)])
    return known[0]
