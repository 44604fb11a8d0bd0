"""`parallelism` bounds the processes, and a component starts the moment its own needs are done."""

from __future__ import annotations

import threading
import time

from tests.support.world import CountedProcesses


class Watched(CountedProcesses):
    """Knows how many ran at once, and when each began and ended."""

    def __init__(self) -> None:
        super().__init__()
        self.most = self._now = 0
        self.times: dict[str, list[float]] = {}
        self._lock = threading.Lock()

    def run(self, argv, **given):
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        self.times.setdefault(given["name"], [time.monotonic(), 0.0])
        try:
            return super().run(argv, **given)
        finally:
            self.times[given["name"]][1] = time.monotonic()
            with self._lock:
                self._now -= 1


def deploy(world, **options):
    watched = Watched()
    services = world.services(processes=watched)
    assert world.call("deploy", "staging", options, services=services)["retcode"] == 0
    return watched


def test_no_more_processes_than_parallelism_at_once(world):
    world.components = {f"c{n}": {"module": "base", "variables": {"name": str(n)}} for n in range(6)}
    assert deploy(world, parallelism=2).most == 2


def test_a_component_does_not_wait_for_those_that_it_does_not_need(world, tmp_path):
    """The slow one lasts until the other has begun, or for a minute."""
    begun = tmp_path / "begun"
    lasts = f"for second in $(seq 60); do test -e {begun} && break; sleep 1; done"
    world.components = {
        "slow": {"module": "shell", "variables": {"command": lasts}},
        "quick": {"module": "base", "variables": {"name": "q"}},
        "after": {"module": "shell", "variables": {"command": f"touch {begun}"}, "needs": ["quick"]},
    }
    times = deploy(world, parallelism=3).times
    assert times["staging/after apply"][0] < times["staging/slow apply"][1]
    assert times["staging/after plan"][0] >= times["staging/quick apply"][1]
