"""Which minion is a component's home, and what every other one says."""

from __future__ import annotations

import pytest

from saltform.bridge.minion import minion_services
from saltform.errors import SaltformError

BLOCK, PILLAR = {"saltform": {"state_dir": "/var/lib/saltform"}}, {"infrastructure": {}}


@pytest.mark.parametrize(
    ("block", "pillar", "missing"),
    [
        (BLOCK, {}, ["`infrastructure:`"]),  # a worker, as salt/terraform makes one
        ({}, PILLAR, ["`saltform:`"]),
        ({}, {}, ["`saltform:`", "`infrastructure:`"]),
    ],
)
def test_who_is_no_home_refuses_and_says_what_a_home_has(block, pillar, missing):
    with pytest.raises(SaltformError) as caught:
        minion_services({"__opts__": {"id": "web-1", **block}, "__pillar__": pillar})
    assert caught.value.summary == "minion web-1 is not the home of any component"
    assert [name for name in ("`saltform:`", "`infrastructure:`") if name in caught.value.fix] == missing
