"""What a running cloud is set to: accounts, zones, capacity, quotas (``call.config`` in an action)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hive_emulator.hooks import Hooks

SYSTEM_ACCOUNT = "000000000000"
FIRST_ACCOUNT = "000000000001"
DEFAULT_REGION = "ap-southeast-2"


@dataclass
class CloudConfig:
    """Settings of one emulator. ``capacity`` and ``quotas`` may change while it runs (admin call)."""

    account: str | None = None  # the first one's; None: as the keys say
    # How many instances of a type may exist per region: {"g5.xlarge": 0}. Types not named have no limit.
    capacity: dict[str, int] = field(default_factory=dict)
    # Quotas by name, per account and region: "instances", "vcpus", "vpcs", "addresses", "volumes-gib", …
    # All of them, and what holds where a name is not set, are in ``ec2/limits.py``.
    quotas: dict[str, int] = field(default_factory=dict)
    hooks: Hooks | None = None

    def zones(self, region: str) -> list[str]:
        """The three zones of a region, in order."""
        return [f"{region}{letter}" for letter in "abc"]
