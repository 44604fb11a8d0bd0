"""The figures of the instance types, and the shape they are shown in."""

from __future__ import annotations

import botocore.session
import pytest

from hive_emulator.ec2 import catalog

MODEL = botocore.session.get_session().get_service_model("ec2")


def test_every_size_of_every_family_is_there():
    sizes = dict.fromkeys(catalog.FAMILIES, 0)
    for name in catalog.types():
        sizes[name.partition(".")[0]] += 1
    assert sizes == {
        "t3": 7, "t3a": 7, "t4g": 7, "m5": 9, "m6i": 10, "c5": 9, "c6i": 10, "r5": 9, "g4dn": 7, "g5": 8,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "vcpus", "gib", "architecture", "network"),
    [
        ("t3.nano", 2, 0.5, "x86_64", "Up to 5 Gigabit"),
        ("t3a.2xlarge", 8, 32, "x86_64", "Up to 5 Gigabit"),
        ("t4g.medium", 2, 4, "arm64", "Up to 5 Gigabit"),
        ("m5.24xlarge", 96, 384, "x86_64", "25 Gigabit"),
        ("m6i.32xlarge", 128, 512, "x86_64", "50 Gigabit"),
        ("c5.9xlarge", 36, 72, "x86_64", "12 Gigabit"),
        ("c6i.large", 2, 4, "x86_64", "Up to 12.5 Gigabit"),
        ("r5.metal", 96, 768, "x86_64", "25 Gigabit"),
        ("g5.48xlarge", 192, 768, "x86_64", "100 Gigabit"),
    ],
)
def test_figures_are_those_that_aws_publishes(name, vcpus, gib, architecture, network):
    info = catalog.types()[name]
    assert info["VCpuInfo"]["DefaultVCpus"] == catalog.vcpus(name) == vcpus
    assert info["MemoryInfo"]["SizeInMiB"] == gib * 1024
    assert info["ProcessorInfo"]["SupportedArchitectures"] == [architecture]
    assert info["NetworkInfo"]["NetworkPerformance"] == network


@pytest.mark.parametrize(
    ("name", "gpu", "count", "disk_gb"),
    [("g4dn.xlarge", "T4", 1, 125), ("g4dn.metal", "T4", 8, 1800), ("g5.12xlarge", "A10G", 4, 3800)],
)
def test_gpus_and_local_disks_are_shown_where_there_are_some(name, gpu, count, disk_gb):
    info = catalog.types()[name]
    [shown] = info["GpuInfo"]["Gpus"]
    assert (shown["Name"], shown["Count"]) == (gpu, count)
    assert info["GpuInfo"]["TotalGpuMemoryInMiB"] == count * shown["MemoryInfo"]["SizeInMiB"]
    assert info["InstanceStorageInfo"]["TotalSizeInGB"] == disk_gb
    assert "GpuInfo" not in catalog.types()["m5.large"]


def test_every_type_has_the_shape_that_botocore_knows():
    for name, info in catalog.types().items():
        _check(MODEL.shape_for("InstanceTypeInfo"), info, name)


def test_figures_of_a_type_agree_with_each_other():
    for name, info in catalog.types().items():
        vcpu, ebs = info["VCpuInfo"], info["EbsInfo"]["EbsOptimizedInfo"]
        assert vcpu["DefaultVCpus"] == vcpu["DefaultCores"] * vcpu["DefaultThreadsPerCore"], name
        assert not vcpu.get("ValidCores") or vcpu["ValidCores"][-1] == vcpu["DefaultCores"], name
        assert ebs["BaselineIops"] <= ebs["MaximumIops"], name
        assert ebs["MaximumThroughputInMBps"] == ebs["MaximumBandwidthInMbps"] / 8, name


PYTHON = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "long": int,
    "double": float,
}


def _check(shape, value, path):
    if shape.type_name == "structure":
        for key, below in value.items():
            assert key in shape.members, f"{path}.{key}"
            _check(shape.members[key], below, f"{path}.{key}")
    elif shape.type_name == "list":
        for below in value:
            _check(shape.member, below, path)
    else:
        assert type(value) is PYTHON[shape.type_name], path
        allowed = getattr(shape, "enum", None)
        assert not allowed or value in allowed, f"{path}: {value}"
