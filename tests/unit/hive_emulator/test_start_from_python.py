"""What a start from Python reads in the one line of the emulator."""

from __future__ import annotations

import pytest

from hive_emulator import testing


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:9999", "https://localhost:1", "https://[::1]:36719"])
def test_the_endpoint_is_found_in_the_line(endpoint: str) -> None:
    found = testing._READY.search(f"Hive is ready on {endpoint} (memory store); use it with …")
    assert found is not None
    assert (found[1], found[2]) == (endpoint, endpoint.partition(":")[0])
