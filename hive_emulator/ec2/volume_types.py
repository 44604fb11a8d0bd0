"""What each volume type allows: size, IOPS and throughput, and what it has when nothing is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hive_emulator.ec2 import parameters
from hive_emulator.errors import ApiError

DEFAULT = "gp3"


@dataclass(frozen=True)
class VolumeType:
    smallest: int  # GiB
    largest: int
    iops: tuple[int, int] | None = None  # the range that may be asked for
    iops_per_gib: int = 0
    iops_default: int = 0  # 0: has to be given
    throughput: tuple[int, int] | None = None  # MiB/s; its lowest is the default
    multi_attach: bool = False


TYPES = {
    "standard": VolumeType(1, 1024),
    "gp2": VolumeType(1, 16384),
    "gp3": VolumeType(1, 16384, (3000, 16000), 500, iops_default=3000, throughput=(125, 1000)),
    "io1": VolumeType(4, 16384, (100, 64000), 50, multi_attach=True),
    "io2": VolumeType(4, 65536, (100, 256000), 1000, multi_attach=True),
    "st1": VolumeType(125, 16384),
    "sc1": VolumeType(125, 16384),
}
_GP2_PER_GIB, _GP2_LOWEST, _GP2_HIGHEST = 3, 100, 16000
_MOST_IOPS_PER_THROUGHPUT = 0.25  # MiB/s for each of gp3's IOPS


@dataclass(frozen=True)
class Performance:
    """What a volume ends up with; None where its type has no such figure."""

    volume_type: str
    size: int
    iops: int | None
    throughput: int | None

    def members(self) -> dict[str, Any]:
        """As members of a Volume."""
        every: dict[str, Any] = {
            "VolumeType": self.volume_type,
            "Size": self.size,
            "Iops": self.iops,
            "Throughput": self.throughput,
        }
        return {name: value for name, value in every.items() if value is not None}


def performance(volume_type: str, size: int, iops: int | None, throughput: int | None) -> Performance:
    """What a volume of this type and size gets, or AWS's error for what it can't have."""
    kind = TYPES.get(volume_type)
    if kind is None:
        raise parameters.invalid(volume_type, "VolumeType", ", ".join(TYPES))
    if not kind.smallest <= size <= kind.largest:
        raise ApiError(
            "InvalidParameterValue",
            f"Volume size {size} GiB is invalid for {volume_type}: "
            f"it must be between {kind.smallest} and {kind.largest} GiB",
        )
    got_iops = _iops(volume_type, kind, size, iops)
    return Performance(volume_type, size, got_iops, _throughput(volume_type, kind, got_iops, throughput))


def _iops(volume_type: str, kind: VolumeType, size: int, iops: int | None) -> int | None:
    if kind.iops is None:
        if iops is not None:
            raise parameters.combination(f"The parameter iops is not supported for {volume_type} volumes.")
        if volume_type == "gp2":
            return min(max(size * _GP2_PER_GIB, _GP2_LOWEST), _GP2_HIGHEST)
        return None
    if iops is None:
        if kind.iops_default:
            return kind.iops_default
        raise ApiError("MissingParameter", f"The parameter iops must be specified for {volume_type} volumes.")
    parameters.within(iops, "iops", *kind.iops)
    # gp3's baseline comes with any size; only what is asked for beyond it is bound to the size.
    if iops > max(size * kind.iops_per_gib, kind.iops_default):
        raise ApiError(
            "InvalidParameterValue",
            f"Iops to volume size ratio of {iops / size:.6f} is too high; "
            f"maximum is {kind.iops_per_gib} iops per GiB for {volume_type} volumes",
        )
    return iops


def _throughput(volume_type: str, kind: VolumeType, iops: int | None, throughput: int | None) -> int | None:
    if kind.throughput is None:
        if throughput is not None:
            raise parameters.combination(f"The parameter throughput is not supported for {volume_type} volumes.")
        return None
    if throughput is None:
        return kind.throughput[0]
    parameters.within(throughput, "throughput", *kind.throughput)
    if iops and throughput / iops > _MOST_IOPS_PER_THROUGHPUT:
        raise ApiError(
            "InvalidParameterValue",
            f"Throughput (MiBps) to iops ratio of {throughput / iops:.6f} is too high; "
            f"maximum is {_MOST_IOPS_PER_THROUGHPUT:.6f} MiBps per iops.",
        )
    return throughput
