"""Counts and times of requests, as Prometheus text.

Requests are counted in plain dictionaries; the client library is imported and fed only when somebody asks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from typing import Any

from hive_emulator.store.state import State

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """What has been asked so far."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, str]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()

    def count(self, service: str, action: str, code: str, seconds: float) -> None:
        """One request; ``code`` is AWS's error code, or OK."""
        self._requests[service, action, code] += 1
        buckets = self._buckets.get(action)
        if buckets is None:
            buckets = self._buckets[action] = [0] * (len(BUCKETS) + 1)
        buckets[bisect_left(BUCKETS, seconds)] += 1
        self._seconds[action] += seconds  # type: ignore[assignment]

    def text(self, state: State) -> bytes:
        """Everything, in Prometheus' exposition format."""
        from prometheus_client import CollectorRegistry, generate_latest

        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collector(self, state))
        return generate_latest(registry)


class _Collector:
    def __init__(self, metrics: Metrics, state: State) -> None:
        self._metrics = metrics
        self._state = state

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        names = ["service", "action", "code"]
        requests = CounterMetricFamily("hive_requests", "Requests by action and code.", labels=names)
        for labels, count in self._metrics._requests.items():
            requests.add_metric(labels, count)
        yield requests
        times = HistogramMetricFamily("hive_request_seconds", "Time to answer.", labels=["action"])
        for action, buckets in self._metrics._buckets.items():
            times.add_metric([action], _cumulative(buckets), self._metrics._seconds[action])
        yield times
        sizes: Counter[str] = Counter()
        for _, _, kind, count in self._state.sizes():
            sizes[kind] += count
        records = GaugeMetricFamily("hive_store_records", "Records in the store.", labels=["kind"])
        for kind, count in sizes.items():
            records.add_metric([kind], count)
        yield records


def _cumulative(buckets: list[int]) -> list[tuple[str, float]]:
    total, found = 0, []
    for bound, count in zip((*map(str, BUCKETS), "+Inf"), buckets, strict=True):
        total += count
        found.append((bound, float(total)))
    return found
