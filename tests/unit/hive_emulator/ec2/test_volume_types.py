"""Limits of the volume types."""

from __future__ import annotations

import pytest

from hive_emulator.ec2.volume_types import performance
from hive_emulator.errors import ApiError


@pytest.mark.parametrize(
    ("volume_type", "size", "iops", "throughput", "expected"),
    [
        ("gp3", 1, None, None, (3000, 125)),
        ("gp3", 1, 3000, None, (3000, 125)),
        ("gp3", 100, 16000, 1000, (16000, 1000)),
        ("gp3", 8, 4000, 500, (4000, 500)),
        ("gp2", 1, None, None, (100, None)),
        ("gp2", 200, None, None, (600, None)),
        ("gp2", 16384, None, None, (16000, None)),
        ("io1", 4, 200, None, (200, None)),
        ("io2", 4, 4000, None, (4000, None)),
        ("io2", 65536, 256000, None, (256000, None)),
        ("st1", 125, None, None, (None, None)),
        ("sc1", 16384, None, None, (None, None)),
        ("standard", 1024, None, None, (None, None)),
    ],
)
def test_a_volume_gets_what_its_type_and_size_allow(volume_type, size, iops, throughput, expected):
    got = performance(volume_type, size, iops, throughput)
    assert (got.iops, got.throughput) == expected
    assert None not in got.members().values()


@pytest.mark.parametrize(
    ("volume_type", "size", "iops", "throughput", "code", "word"),
    [
        ("gp3", 0, None, None, "InvalidParameterValue", "between 1 and 16384"),
        ("gp3", 16385, None, None, "InvalidParameterValue", "16384"),
        ("io1", 3, 100, None, "InvalidParameterValue", "between 4"),
        ("st1", 124, None, None, "InvalidParameterValue", "between 125"),
        ("standard", 1025, None, None, "InvalidParameterValue", "1024"),
        ("gp3", 8, 2999, None, "InvalidParameterValue", "3000 to 16000"),
        ("gp3", 7, 4000, None, "InvalidParameterValue", "500 iops per GiB"),
        ("io1", 4, 201, None, "InvalidParameterValue", "50 iops per GiB"),
        ("io1", 8, None, None, "MissingParameter", "iops"),
        ("gp2", 8, 100, None, "InvalidParameterCombination", "gp2"),
        ("standard", 8, 100, None, "InvalidParameterCombination", "standard"),
        ("gp2", 8, None, 125, "InvalidParameterCombination", "throughput"),
        ("gp3", 8, None, 1001, "InvalidParameterValue", "125 to 1000"),
        ("gp3", 8, 3000, 751, "InvalidParameterValue", "0.25"),
        ("gp9", 8, None, None, "InvalidParameterValue", "gp3"),
    ],
)
def test_what_a_type_does_not_allow_is_refused_with_its_limit(volume_type, size, iops, throughput, code, word):
    with pytest.raises(ApiError) as caught:
        performance(volume_type, size, iops, throughput)
    assert caught.value.code == code
    assert word in caught.value.message
