"""restore refuses while somebody is at work."""

from __future__ import annotations

import pytest

from saltform.errors import Locked
from saltform.runlog import RunRecord
from saltform.verbs import restore
from tests.support.world import World


def test_a_run_of_any_master_that_lives_is_seen_behind_any_number_of_others(tmp_path):
    services = World(tmp_path).services()
    services.runlog.begin(RunRecord("0", "staging", "deploy", "ada", {}))
    for number in range(1001):
        services.runlog.begin(RunRecord(f"1{number:04}", "staging", "drift", "ada", {}, status="done"))
    with services.locks.hold_run("0"), pytest.raises(Locked, match="run 0 is still running"):
        restore._check_nobody_is_alive(services)
    services.close()
