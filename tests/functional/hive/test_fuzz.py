"""A fixed budget of requests as nobody should send them; ``make fuzz`` runs the same for longer."""

from __future__ import annotations

from pathlib import Path

from hive_fuzz import Fuzzer

from hive_emulator.testing import running_emulator

BUDGET = 3000
SEED = 20261116


def test_nothing_malformed_gives_a_5xx_a_traceback_or_a_stuck_connection(tmp_path: Path) -> None:
    with running_emulator(tmp_path) as hive:
        findings = Fuzzer(hive, SEED).run(BUDGET)
    assert not findings.problems, "\n".join(findings.problems[:10])
    assert findings.codes["200"] > BUDGET / 50, "hardly anything was right: the fuzzer does not reach the actions"
    assert len(findings.actions) > 100
