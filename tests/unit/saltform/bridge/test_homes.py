"""Which minion is a component's home, and what every other one says."""

from __future__ import annotations

import pytest

from saltform.bridge import minion
from saltform.bridge.job import Job
from saltform.errors import SaltformError

BLOCK = {"saltform": {"state_dir": "/var/lib/saltform"}}


@pytest.mark.parametrize(
    ("block", "missing"),
    [(BLOCK, "`infrastructure:`"), ({}, "`saltform:`")],  # a worker, as salt/terraform makes one; any other minion
)
def test_who_is_no_home_refuses_and_says_what_a_home_has(monkeypatch, block, missing):
    monkeypatch.setattr(minion, "minion_options", lambda given: {"id": "web-1", **given})
    monkeypatch.setattr(minion, "current_job", lambda _opts: Job("1", "dora", False))
    monkeypatch.setattr(minion, "masters_pillar", lambda _opts, _job: {})
    with pytest.raises(SaltformError) as caught:
        minion.minion_services({"__opts__": block})
    assert caught.value.summary == "minion web-1 is not the home of any component"
    assert missing in caught.value.fix
