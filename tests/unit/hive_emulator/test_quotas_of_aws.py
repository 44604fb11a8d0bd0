"""``--quota aws``: AWS's numbers, and what is given beside it on top."""

from __future__ import annotations

from hive_emulator import cli
from hive_emulator.ec2 import limits


def test_every_quota_has_awss_number():
    found = cli._quotas(["aws", "vpcs=9"])
    assert (found["vpcs"], found["addresses"], found["vcpus-standard"]) == (9, 5, 5)
    without = {name for name, (number, _) in limits.QUOTAS.items() if number is None and name not in found}
    assert without == {"instances", "vcpus"}  # AWS counts vCPUs by family now
    assert set(found) <= set(limits.QUOTAS)


def test_without_it_only_what_is_given_counts():
    assert cli._quotas(["vpcs=9"]) == {"vpcs": 9}
