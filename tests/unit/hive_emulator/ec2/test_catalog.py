"""The figures of the instance types, and the shape they are shown in."""

from __future__ import annotations

import gzip

import botocore.session
import pytest

from hive_emulator.ec2 import catalog
from hive_emulator.ec2.data import convert_instance_types

MODEL = botocore.session.get_session().get_service_model("ec2")


def test_every_type_that_moto_knows_is_there():
    assert len(catalog.types()) == 1395
    assert {"t1.micro", "m1.small", "t2.micro", "m7i.large", "u-6tb1.112xlarge"} <= set(catalog.types())
    shipped = gzip.decompress(convert_instance_types.TARGET.read_bytes())
    expected = convert_instance_types.text(convert_instance_types.converted())
    assert shipped == expected, "run: python hive_emulator/ec2/data/convert_instance_types.py"


def test_sizes_of_a_family_come_from_small_to_large():
    sizes = [name.partition(".")[2] for name in catalog.types() if name.startswith("m5.")]
    assert sizes == ["large", "xlarge", "2xlarge", "4xlarge", "8xlarge", "12xlarge", "16xlarge", "24xlarge", "metal"]


@pytest.mark.parametrize(
    ("name", "quota"),
    [
        ("t2.micro", "standard"), ("im4gn.large", "standard"), ("m7i-flex.large", "standard"),
        ("z1d.large", "standard"),
        ("g5.xlarge", "g"), ("gr6.4xlarge", "g"), ("vt1.3xlarge", "g"),
        ("p4d.24xlarge", "p"), ("u-6tb1.56xlarge", "u"), ("hpc6a.48xlarge", "hpc"), ("trn1.2xlarge", "trn"),
    ],
)  # fmt: skip
def test_every_type_counts_against_its_familys_quota(name, quota):
    assert name in catalog.types()
    assert catalog.quota(name) == quota


def test_only_types_with_credits_are_burstable():
    assert {name.partition(".")[0] for name in catalog.types() if catalog.is_burstable(name)} == {
        "t2", "t3", "t3a", "t4g",
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
        ("m7i.large", 2, 8, "x86_64", "Up to 12.5 Gigabit"),
        ("c8g.medium", 1, 2, "arm64", "Up to 12.5 Gigabit"),
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
        vcpu, ebs = info["VCpuInfo"], info["EbsInfo"].get("EbsOptimizedInfo")
        assert vcpu["DefaultVCpus"] == vcpu["DefaultCores"] * vcpu["DefaultThreadsPerCore"], name
        assert not vcpu.get("ValidCores") or vcpu["ValidCores"][-1] == vcpu["DefaultCores"], name
        if ebs is None:
            continue
        assert ebs["BaselineIops"] <= ebs["MaximumIops"], name
        assert ebs["MaximumThroughputInMBps"] == pytest.approx(ebs["MaximumBandwidthInMbps"] / 8), name


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
