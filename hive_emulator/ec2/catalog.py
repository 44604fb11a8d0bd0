"""The instance types that exist, each as botocore's InstanceTypeInfo.

They are AWS's own, more than a thousand (data/instance_types.jsonl.gz, of data/convert_instance_types.py), so each
line is read only when its type is asked for.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

import orjson

from hive_emulator.store.state import Record

_STANDARD = frozenset(("a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"))  # families' letters
_G = frozenset(("g", "gr", "vt"))
_NAME = re.compile(rb'"InstanceType":"([^"]+)"')


class Catalog(Mapping[str, dict[str, Any]]):
    """Instance types by name, in the file's order: by family, then from small to large."""

    def __init__(self, lines: list[bytes]) -> None:
        self._lines = {_NAME.search(line)[1].decode(): line for line in lines}  # type: ignore[index]
        self._read: dict[str, Record] = {}

    def __getitem__(self, name: str) -> dict[str, Any]:
        if name not in self._read:
            self._read[name] = Record(orjson.loads(self._lines[name]))
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, name: object) -> bool:
        return name in self._lines


@cache
def types() -> Catalog:
    """Every instance type."""
    packed = resources.files("hive_emulator.ec2").joinpath("data/instance_types.jsonl.gz").read_bytes()
    return Catalog(gzip.decompress(packed).splitlines())


@cache
def quota(instance_type: str) -> str:
    """Which vCPU quota an instance of this type counts against: standard, g, or the family's letters."""
    letters = re.match("[a-z]*", instance_type)[0]  # type: ignore[index]
    return "standard" if letters in _STANDARD else "g" if letters in _G else letters


def architectures(instance_type: str) -> list[str]:
    """What an image for this type may be made for."""
    found: list[str] = types()[instance_type]["ProcessorInfo"]["SupportedArchitectures"]
    return found


def vcpus(instance_type: str) -> int:
    return int(types()[instance_type]["VCpuInfo"]["DefaultVCpus"])


def is_burstable(instance_type: str) -> bool:
    return bool(types()[instance_type]["BurstablePerformanceSupported"])
