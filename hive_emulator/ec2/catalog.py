"""The instance types that exist: a compact table of figures, expanded to botocore's InstanceTypeInfo shape.

The table (data/instance_types.csv) has one line a size; what a whole family shares is in FAMILIES below.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

Row = dict[str, str]


class Family(NamedTuple):
    manufacturer: str
    architecture: str
    quota: str  # the vCPU quota its instances count against
    encrypted_network: bool = False
    gpu: tuple[str, int] | None = None  # name and MiB of one GPU


FAMILIES = {
    "t3": Family("Intel", "x86_64", "standard"),
    "t3a": Family("AMD", "x86_64", "standard"),
    "t4g": Family("AWS", "arm64", "standard"),
    "m5": Family("Intel", "x86_64", "standard"),
    "m6i": Family("Intel", "x86_64", "standard", encrypted_network=True),
    "c5": Family("Intel", "x86_64", "standard"),
    "c6i": Family("Intel", "x86_64", "standard", encrypted_network=True),
    "r5": Family("Intel", "x86_64", "standard"),
    "g4dn": Family("Intel", "x86_64", "g", encrypted_network=True, gpu=("T4", 16384)),
    "g5": Family("AMD", "x86_64", "g", encrypted_network=True, gpu=("A10G", 22888)),
}


@cache
def types() -> dict[str, dict[str, Any]]:
    """Every instance type by name, in the table's order."""
    text = resources.files("hive_emulator.ec2").joinpath("data/instance_types.csv").read_text("utf-8")
    return {row["type"]: _expand(row) for row in csv.DictReader(text.splitlines())}


def family(instance_type: str) -> Family:
    return FAMILIES[instance_type.partition(".")[0]]


def vcpus(instance_type: str) -> int:
    return int(types()[instance_type]["VCpuInfo"]["DefaultVCpus"])


def is_burstable(instance_type: str) -> bool:
    return instance_type.startswith("t")


def _expand(row: Row) -> dict[str, Any]:
    name, features = row["type"], row["features"].split()
    kind, metal = family(name), name.endswith(".metal")
    x86 = kind.architecture == "x86_64"
    info = {
        "InstanceType": name,
        "CurrentGeneration": True,
        "FreeTierEligible": "free-tier" in features,
        "SupportedUsageClasses": ["on-demand", "spot"],
        "SupportedRootDeviceTypes": ["ebs"],
        "SupportedVirtualizationTypes": ["hvm"],
        "BareMetal": metal,
        "ProcessorInfo": {
            "SupportedArchitectures": [kind.architecture],
            "SustainedClockSpeedInGhz": float(row["clock_ghz"]),
            "Manufacturer": kind.manufacturer,
        },
        "VCpuInfo": _vcpu_info(row),
        "MemoryInfo": {"SizeInMiB": int(row["memory_mib"])},
        "InstanceStorageSupported": row["disks"] != "0",
        "EbsInfo": _ebs_info(row),
        "NetworkInfo": _network_info(row, kind, features),
        "PlacementGroupInfo": {
            "SupportedStrategies": ["partition", "spread"]
            if is_burstable(name)
            else ["cluster", "partition", "spread"]
        },
        "HibernationSupported": "hibernation" in features,
        "BurstablePerformanceSupported": is_burstable(name),
        "DedicatedHostsSupported": "dedicated-host" in features,
        "AutoRecoverySupported": "auto-recovery" in features,
        "SupportedBootModes": ["legacy-bios"] if metal else ["legacy-bios", "uefi"] if x86 else ["uefi"],
        "NitroEnclavesSupport": "supported" if "enclaves" in features else "unsupported",
        "NitroTpmSupport": "unsupported" if metal else "supported",
        "SupportedInRegion": True,
    }
    if not metal:
        info |= {"Hypervisor": "nitro", "NitroTpmInfo": {"SupportedVersions": ["2.0"]}}
    if row["disks"] != "0":
        info["InstanceStorageInfo"] = _storage_info(row)
    if kind.gpu:
        info["GpuInfo"] = _gpu_info(int(row["gpus"]), *kind.gpu)
    return info


def _vcpu_info(row: Row) -> dict[str, Any]:
    vcpus, cores = int(row["vcpus"]), int(row["cores"])
    info: dict[str, Any] = {
        "DefaultVCpus": vcpus,
        "DefaultCores": cores,
        "DefaultThreadsPerCore": vcpus // cores,
    }
    if row["valid_cores"]:  # FIRST-LAST/STEP; where it is missing the cores cannot be chosen
        span, _, step = row["valid_cores"].partition("/")
        first, _, last = span.partition("-")
        info["ValidCores"] = list(range(int(first), int(last) + 1, int(step)))
        info["ValidThreadsPerCore"] = list(range(1, vcpus // cores + 1))
    return info


def _ebs_info(row: Row) -> dict[str, Any]:
    base, most = int(row["ebs_base_mbps"]), int(row["ebs_max_mbps"])
    return {
        "EbsOptimizedSupport": "default",
        "EncryptionSupport": "supported",
        "EbsOptimizedInfo": {
            "BaselineBandwidthInMbps": base,
            "BaselineThroughputInMBps": base / 8,
            "BaselineIops": int(row["ebs_base_iops"]),
            "MaximumBandwidthInMbps": most,
            "MaximumThroughputInMBps": most / 8,
            "MaximumIops": int(row["ebs_max_iops"]),
        },
        "NvmeSupport": "required",
        "MaximumEbsAttachments": int(row["ebs_attachments"]),
        "AttachmentLimitType": "shared",
    }


def _network_info(row: Row, kind: Family, features: list[str]) -> dict[str, Any]:
    efa = "efa" in features
    info = {
        "NetworkPerformance": row["network"],
        "MaximumNetworkInterfaces": int(row["interfaces"]),
        "MaximumNetworkCards": 1,
        "DefaultNetworkCardIndex": 0,
        "NetworkCards": [
            {
                "NetworkCardIndex": 0,
                "NetworkPerformance": row["network"],
                "MaximumNetworkInterfaces": int(row["interfaces"]),
                "BaselineBandwidthInGbps": float(row["network_base_gbps"]),
                "PeakBandwidthInGbps": float(row["network_peak_gbps"]),
            }
        ],
        "Ipv4AddressesPerInterface": int(row["addresses"]),
        "Ipv6AddressesPerInterface": int(row["addresses"]),
        "Ipv6Supported": True,
        "EnaSupport": "required",
        "EfaSupported": efa,
        "EncryptionInTransitSupported": kind.encrypted_network,
        "EnaSrdSupported": "ena-express" in features,
    }
    return info | ({"EfaInfo": {"MaximumEfaInterfaces": 1}} if efa else {})


def _storage_info(row: Row) -> dict[str, Any]:
    count, size = int(row["disks"]), int(row["disk_gb"])
    return {
        "TotalSizeInGB": count * size,
        "Disks": [{"SizeInGB": size, "Count": count, "Type": "ssd"}],
        "NvmeSupport": "required",
        "EncryptionSupport": "required",
    }


def _gpu_info(count: int, name: str, memory: int) -> dict[str, Any]:
    return {
        "Gpus": [{"Name": name, "Manufacturer": "NVIDIA", "Count": count, "MemoryInfo": {"SizeInMiB": memory}}],
        "TotalGpuMemoryInMiB": count * memory,
    }
