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


class _Times:
    """How long requests of one kind have taken."""

    __slots__ = ("buckets", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0
        self.buckets = [0] * (len(BUCKETS) + 1)

    def add(self, other: _Times) -> None:
        self.seconds += other.seconds
        self.buckets = [mine + theirs for mine, theirs in zip(self.buckets, other.buckets, strict=True)]


class Metrics:
    """What has been asked so far."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, str, str], _Times] = {}

    def count(self, service: str, action: str, code: str, seconds: float) -> None:
        """One request; ``code`` is AWS's error code, or OK."""
        times = self._requests.get((service, action, code))
        if times is None:
            times = self._requests[service, action, code] = _Times()
        times.seconds += seconds
        times.buckets[bisect_left(BUCKETS, seconds)] += 1

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
        by_action: dict[str, _Times] = {}
        for labels, times in self._metrics._requests.items():
            requests.add_metric(labels, sum(times.buckets))
            by_action.setdefault(labels[1], _Times()).add(times)
        yield requests
        histogram = HistogramMetricFamily("hive_request_seconds", "Time to answer.", labels=["action"])
        for action, times in by_action.items():
            histogram.add_metric([action], _cumulative(times.buckets), times.seconds)
        yield histogram
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
