"""A world whose components are on a Hive, with the real aws provider."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hive_emulator.testing import RunningHive
from saltform.config import Settings
from saltform.engine.services import Services
from tests.support.world import World


class HiveWorld(World):
    """One environment, `staging`, and one provider, `hive`."""

    def __init__(self, home: Path, hive: RunningHive) -> None:
        super().__init__(home)
        self.keys = {"AWS_ACCESS_KEY_ID": hive.access_key, "AWS_SECRET_ACCESS_KEY": hive.secret_key}
        provider = {"kind": "aws", "endpoint": hive.endpoint, "region": hive.region}
        self.infrastructure = {"providers": {"hive": provider | {"credentials": {"pillar": {"path": "keys"}}}}}

    def services(self, **given: Any) -> Services:
        services = super().services(**given)
        services.settings = Settings(self.state_dir, services.settings.modules, mirror="auto")
        services.pillar = {**services.pillar, "keys": self.keys}
        return services

    def drift(self, **options: Any) -> dict[str, Any]:
        return self.call("drift", "staging", options)
