"""The `saltform:` block of the master's or minion's configuration: facts of this host, not of an environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saltform.config.reader import Reader
from saltform.config.types import ReleasesFile, Settings
from saltform.errors import ConfigError, Problem

TOKENS, MANUAL = "tokens", "manual"  # who accepts the keys of new minions: accept_key, or a person
CONFIGURATION = "Salt's configuration"
DEFAULT_STATE_DIR = "/var/lib/saltform"
DEFAULT_MODULES = ("/srv/terraform/modules",)


def load_settings(options: Mapping[str, Any]) -> Settings:
    """Read and check the host's settings from Salt's configuration."""
    problems: list[Problem] = []
    reader = Reader(options.get("saltform"), f"saltform (in {CONFIGURATION})", problems)
    reader.only(("state_dir", "modules", "mirror", "pillar_id", "pillarenv", "releases", "keys"))
    settings = Settings(
        state_dir=Path(reader.text("state_dir", DEFAULT_STATE_DIR)),
        modules=tuple(Path(item) for item in reader.texts("modules") or DEFAULT_MODULES),
        mirror=reader.text("mirror", "auto"),
        pillar_id=reader.text("pillar_id"),
        pillarenv=reader.text("pillarenv", "base") or "base",
        releases=_read_releases(reader),
        keys=reader.choice("keys", TOKENS, (TOKENS, MANUAL)),
    )
    if not settings.state_dir.is_absolute():
        reader.problem("state_dir", str(settings.state_dir), "an absolute path")
    if problems:
        raise ConfigError(problems, CONFIGURATION)
    return settings


def _read_releases(reader: Reader) -> ReleasesFile | None:
    if reader.tree.get("releases") is None:
        return None
    section = reader.section("releases")
    section.only(("repository", "branch", "file"))
    found = ReleasesFile(
        Path(section.text("repository")),
        section.text("branch", "main"),
        section.text("file", "infrastructure/releases.sls"),
    )
    if not found.repository.is_absolute():
        section.problem("repository", section.tree.get("repository"), "the absolute path of a git repository")
    if Path(found.file).is_absolute() or ".." in Path(found.file).parts:
        section.problem("file", found.file, "a path inside the repository")
    return found
