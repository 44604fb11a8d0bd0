"""A network as data: namespaces with their bridges, addresses, routes and rules, and the links between them.

Everything that carries or stops packets is in one :class:`NetworkPlan`; :mod:`machines.reconcile` makes the kernel
equal to it. Plans are compared with each other, so every part of one is a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MAIN = 254  # the routing table that is used when no policy rule says otherwise


@dataclass(frozen=True)
class End:
    """One end of a veth; ``namespace`` None is the host's own."""

    namespace: str | None
    name: str
    mac: str = ""
    bridge: str = ""  # of which it is a port
    arp: bool = True


@dataclass(frozen=True)
class Link:
    """A veth."""

    end: End
    other: End


@dataclass(frozen=True)
class Route:
    """``kind`` is unicast, blackhole, unreachable, or throw (go on with the next policy rule)."""

    destination: str
    device: str = ""
    via: str = ""  # taken to be on the link, whatever the addresses there are
    kind: str = "unicast"
    table: int = MAIN


@dataclass(frozen=True)
class PolicyRule:
    """What comes in on ``device`` (empty: everything) is routed by ``table``."""

    priority: int
    table: int
    device: str = ""
    ipv6: bool = False


@dataclass(frozen=True)
class Neighbour:
    """Who has an address on a device, for good: nobody has to be asked."""

    device: str
    address: str
    mac: str


@dataclass(frozen=True)
class NamespacePlan:
    """What one namespace has, the links aside."""

    bridges: Mapping[str, str] = field(default_factory=dict)  # name → MAC
    addresses: frozenset[tuple[str, str]] = frozenset()  # (device, "10.0.0.1/24")
    routes: frozenset[Route] = frozenset()
    rules: frozenset[PolicyRule] = frozenset()
    neighbours: frozenset[Neighbour] = frozenset()
    settings: Mapping[str, str] = field(default_factory=dict)  # below /proc/sys/net
    ruleset: str = ""  # of nftables: a JSON list of commands; empty: none
    down: frozenset[str] = frozenset()  # devices that are cut
    rates: Mapping[str, int] = field(default_factory=dict)  # device → bits a second at most


@dataclass(frozen=True)
class NetworkPlan:
    """``host`` is what the host's own namespace gets on the plan's links, and nothing else there is touched."""

    namespaces: Mapping[str, NamespacePlan] = field(default_factory=dict)
    links: frozenset[Link] = frozenset()
    host: NamespacePlan = field(default_factory=NamespacePlan)


FORWARDING = {
    "ipv4/ip_forward": "1",
    "ipv4/conf/all/rp_filter": "0",
    "ipv4/conf/default/rp_filter": "0",
    "ipv4/conf/all/send_redirects": "0",
    "ipv4/conf/default/send_redirects": "0",
    "ipv6/conf/all/forwarding": "1",
}
