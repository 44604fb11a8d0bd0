"""Makes the kernel's namespaces equal to a plan.

1. Namespaces of the prefix that the plan lacks are removed; missing ones are made.
2. Links that the plan lacks are removed; missing ones are made, each directly between its two namespaces.
3. In each namespace whose part of the plan differs from what was applied last: bridges, addresses, routes, policy
   rules, neighbours, settings; then nftables' rules in one transaction.
4. What this process has not applied itself (it was just started) is read from the kernel first, so that another
   process's networks are taken over while they are in use.

Rules are checked before anything is changed. A plan is applied as a whole, or undone by applying the one before.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyroute2 import IPRoute

from machines import namespaces, nft
from machines.errors import RulesRefused
from machines.kernel import KernelNamespace
from machines.network import End, Link, NetworkPlan


class Reconciler:
    """The networks of one prefix. Calls come from threads, one at a time; never from an event loop's thread."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self._applied = NetworkPlan()
        self._known: set[str] = set()  # namespaces that this process has made or read
        self._lock = threading.Lock()

    def apply(self, plan: NetworkPlan) -> None:
        """Make the kernel equal to ``plan``; when it can't be, it is as it was before, and the error is raised."""
        with self._lock:
            before = self._applied
            try:
                self._apply(plan)
            except RulesRefused:
                self._apply(before)
                raise

    def remove(self) -> None:
        """Remove everything of this prefix."""
        self.apply(NetworkPlan())

    def _apply(self, plan: NetworkPlan) -> None:
        there = namespaces.listed(self.prefix)
        self._check_rules(plan, there)
        for name in there - set(plan.namespaces):
            namespaces.remove(name)
            self._known.discard(name)
        for name in set(plan.namespaces) - there:
            namespaces.create(name)
        self._link(plan, fresh=set(plan.namespaces) - there)
        for name, wanted in plan.namespaces.items():
            if name in self._known and self._applied.namespaces.get(name) == wanted and not self._touched(plan, name):
                continue
            with opened(name) as kernel:
                kernel.sync(wanted, _ends(plan, name))
            if name not in self._known or self._ruleset(name) != wanted.ruleset:
                nft.replace(name, json.loads(wanted.ruleset or "[]"))
            self._known.add(name)
        if plan.links or self._applied.links:
            with opened(None) as kernel:
                kernel.sync(plan.host, _ends(plan, None), only_ours=True)
        self._applied = plan

    def _ruleset(self, name: str) -> str:
        found = self._applied.namespaces.get(name)
        return found.ruleset if found else ""

    def _touched(self, plan: NetworkPlan, name: str) -> bool:
        """True when a link into this namespace came or went."""
        changed = plan.links ^ self._applied.links
        return any(name in (link.end.namespace, link.other.namespace) for link in changed)

    def _check_rules(self, plan: NetworkPlan, there: set[str]) -> None:
        """What nftables would refuse is refused before anything is changed, where the namespace is there already."""
        for name in there & self._known & set(plan.namespaces):
            wanted = plan.namespaces[name].ruleset
            if wanted != self._ruleset(name):
                nft.check(name, json.loads(wanted or "[]"))

    def _link(self, plan: NetworkPlan, fresh: set[str]) -> None:
        """Make and remove links. Of namespaces that are new, or not yet read, nothing is assumed."""
        for link in self._applied.links - plan.links:
            for end in (link.end, link.other):
                if end.namespace is None or end.namespace in plan.namespaces:
                    with opened(end.namespace) as kernel:
                        kernel.remove_link(end.name)
                    break
        unread = set(plan.namespaces) - self._known - fresh
        for link in plan.links:
            places = {link.end.namespace, link.other.namespace}
            if link not in self._applied.links or places & (unread | fresh):
                self._make(link, maybe_there=not places & fresh)

    def _make(self, link: Link, maybe_there: bool) -> None:
        end, other = (link.end, link.other) if link.end.namespace else (link.other, link.end)
        with opened(end.namespace) as kernel:
            if maybe_there and kernel.has(end.name):
                return
            kernel.make_veth(end, other)


def _ends(plan: NetworkPlan, name: str | None) -> list[End]:
    return [end for link in plan.links for end in (link.end, link.other) if end.namespace == name]


@contextmanager
def opened(name: str | None) -> Iterator[KernelNamespace]:
    """A namespace's netlink socket; the calling thread is inside it meanwhile."""
    with namespaces.entered(name), IPRoute() as ip:
        yield KernelNamespace(name, ip)


def device_names(namespace: str | None) -> set[str]:
    """The devices of a namespace."""
    with opened(namespace) as kernel:
        return kernel.devices()
