"""One namespace of the kernel, made equal to its part of a plan by pyroute2."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from machines import namespaces
from machines.errors import MachinesError
from machines.network import MAIN, End, NamespacePlan, Neighbour, PolicyRule, Route

_OURS = 222  # the protocol number of routes that this package made
_OWN_RULES = range(1, 32000)  # priorities; the kernel's own are 0, 32766 and 32767
_PERMANENT = 0x80
_NO_DAD = 0x02
_UP, _NO_ARP = 0x01, 0x80  # flags of a device
_KINDS = {"unicast": 1, "blackhole": 6, "unreachable": 7, "throw": 9}
_NAMES = {number: name for name, number in _KINDS.items()}
_LATENCY, _BURST = "50ms", 32 * 1024  # of a slow link


class KernelNamespace:
    """The calling thread is inside it while this is used."""

    def __init__(self, name: str | None, ip: IPRoute) -> None:
        self.name = name or "the host"
        self._ip = ip
        self._indexes: dict[str, int] | None = None

    def devices(self) -> set[str]:
        return set(self._devices())

    def has(self, device: str) -> bool:
        return device in self._devices()

    def make_veth(self, end: End, other: End) -> None:
        """A veth from here into the other end's namespace."""
        with self._doing(f"the link {end.name}"), _namespace_fd(other.namespace) as fd:
            peer: dict[str, Any] = {"ifname": other.name, "net_ns_fd": fd}
            if other.mac:
                peer["address"] = other.mac
            own = {"address": end.mac} if end.mac else {}
            self._ip.link("add", ifname=end.name, kind="veth", peer=peer, **own)
        self._indexes = None

    def remove_link(self, device: str) -> None:
        """Both ends go."""
        if self.has(device):
            try:
                self._ip.link("del", index=self._devices()[device])
            except NetlinkError as error:
                if error.code != errno.ENODEV:  # it goes by itself a moment after the other end's namespace
                    raise
            self._indexes = None

    def sync(self, plan: NamespacePlan, ends: Iterable[End], only_ours: bool = False) -> None:
        """Make everything here equal to ``plan``; with ``only_ours`` what isn't on one of ``ends`` is left alone."""
        ends = list(ends)
        ours = {end.name for end in ends}
        with self._doing("the network"):
            self._settings(plan)
            if not only_ours:
                self._bridges(plan, ours)
            self._up(plan, ends, only_ours)
            self._addresses(plan, ours if only_ours else self.devices())
            if not only_ours:
                self._rules(plan)
            self._neighbours(plan, ours if only_ours else self.devices())
            self._routes(plan, ours if only_ours else None)
            self._rates(plan, ours)

    def _settings(self, plan: NamespacePlan) -> None:
        for name, value in plan.settings.items():
            path = Path("/proc/sys/net") / name
            if path.exists():  # a kernel without IPv6 has none of its settings
                path.write_text(value)

    def _bridges(self, plan: NamespacePlan, links: set[str]) -> None:
        for name in set(plan.bridges) - self.devices():
            self._ip.link("add", ifname=name, kind="bridge", address=plan.bridges[name], br_stp_state=0)
            self._indexes = None
        for name in self.devices() - set(plan.bridges) - links - {"lo"}:
            self.remove_link(name)

    def _up(self, plan: NamespacePlan, ends: list[End], only_ours: bool) -> None:
        devices = self._devices()
        for name in () if only_ours else ("lo", *plan.bridges):
            self._ip.link("set", index=devices[name], state="up")
        for end in ends:
            if end.name not in devices:
                raise MachinesError(f"the link {end.name} is not in {self.name}")
            more: dict[str, Any] = {"master": devices[end.bridge]} if end.bridge else {}
            flags = (0 if end.name in plan.down else _UP) | (0 if end.arp else _NO_ARP)
            self._ip.link("set", index=devices[end.name], flags=flags, change=_UP | _NO_ARP, **more)

    def _addresses(self, plan: NamespacePlan, devices: set[str]) -> None:
        names = {index: name for name, index in self._devices().items()}
        there = {
            (names[each["index"]], f"{each.get('address')}/{each['prefixlen']}")
            for each in self._ip.get_addr()
            if names.get(each["index"]) in devices and not _is_automatic(each)
        }
        # First those that go: with the first address of a range the kernel removes the others of it.
        for device, address in there - plan.addresses:
            if device != "lo" or not address.startswith(("127.", "::1/")):
                self._ip.addr("del", **self._address(device, address))
        for device, address in sorted(plan.addresses - there):
            more = {"flags": _NO_DAD} if ":" in address else {}
            self._ip.addr("add", **self._address(device, address), **more)

    def _address(self, device: str, address: str) -> dict[str, Any]:
        host, _, length = address.partition("/")
        return {"index": self._devices()[device], "address": host, "prefixlen": int(length)}

    def _routes(self, plan: NamespacePlan, devices: set[str] | None) -> None:
        """Missing ones replace what has their place before anything is deleted: traffic always has a route."""
        names = {index: name for name, index in self._devices().items()}
        there = {_route(each, names) for each in self._ip.get_routes() if each["proto"] == _OURS}
        if devices is not None:
            there = {each for each in there if each.device in devices}
        for route in sorted(plan.routes - there, key=_outermost_last):
            self._ip.route("replace", **self._words(route))
        places = {(route.table, route.destination) for route in plan.routes}
        for route in there - plan.routes:
            if (route.table, route.destination) not in places:
                self._ip.route("del", **self._words(route))

    def _words(self, route: Route) -> dict[str, Any]:
        words: dict[str, Any] = {"dst": route.destination, "table": route.table, "proto": _OURS}
        words["type"] = route.kind
        words["family"] = socket.AF_INET6 if ":" in route.destination else socket.AF_INET
        if route.kind != "unicast":
            return words
        words["oif"] = self._devices()[route.device]
        if route.via:
            words |= {"gateway": route.via, "flags": ["onlink"]}
        else:
            words["scope"] = "link"
        return words

    def _rules(self, plan: NamespacePlan) -> None:
        there = set()
        for family in (socket.AF_INET, socket.AF_INET6):
            there |= {_rule(each, family) for each in self._ip.get_rules(family=family) if _is_ours(each)}
        for how, rules in (("add", plan.rules - there), ("del", there - plan.rules)):
            for rule in rules:
                words: dict[str, Any] = {"priority": rule.priority, "table": rule.table}
                words["family"] = socket.AF_INET6 if rule.ipv6 else socket.AF_INET
                if rule.device:
                    words["iifname"] = rule.device
                self._ip.rule(how, **words)

    def _neighbours(self, plan: NamespacePlan, devices: set[str]) -> None:
        names = {index: name for name, index in self._devices().items()}
        there = {
            Neighbour(names[each["ifindex"]], str(each.get("dst")), str(each.get("lladdr")))
            for each in self._ip.get_neighbours()
            if each["state"] == _PERMANENT and names.get(each["ifindex"]) in devices
        }
        for each in plan.neighbours - there:
            index = self._devices()[each.device]
            self._ip.neigh("replace", dst=each.address, lladdr=each.mac, ifindex=index, state="permanent")
        kept = {(each.device, each.address) for each in plan.neighbours}
        for each in there:
            if (each.device, each.address) not in kept:
                self._ip.neigh("del", dst=each.address, ifindex=self._devices()[each.device])

    def _rates(self, plan: NamespacePlan, ours: set[str]) -> None:
        devices = self._devices()
        slow = {each["index"] for each in self._ip.get_qdiscs() if each.get("kind") == "tbf"}
        for device in ours:
            if devices[device] in slow:
                self._ip.tc("del", index=devices[device], root=True)
            if device in plan.rates:
                rate = plan.rates[device] // 8
                self._ip.tc("add", "tbf", devices[device], 0x10000, rate=rate, burst=_BURST, latency=_LATENCY)

    def _devices(self) -> dict[str, int]:
        if self._indexes is None:
            self._indexes = {str(each.get("ifname")): each["index"] for each in self._ip.get_links()}
        return self._indexes

    @contextmanager
    def _doing(self, what: str) -> Iterator[None]:
        try:
            yield
        except NetlinkError as error:
            raise MachinesError(f"{what} of {self.name} can't be made: {os.strerror(error.code)}") from error
        except OSError as error:
            why = error.strerror or errno.errorcode.get(error.errno or 0, str(error))
            raise MachinesError(f"{what} of {self.name} can't be made: {why}") from error


@contextmanager
def _namespace_fd(name: str | None) -> Iterator[int]:
    if name is None:
        yield namespaces.HOST
        return
    fd = os.open(namespaces.FOLDER / name, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def _is_automatic(address: Any) -> bool:
    return str(address.get("address")).startswith("fe80:") and address["prefixlen"] == 64


def _is_ours(rule: Any) -> bool:
    return (rule.get("priority") or 0) in _OWN_RULES


def _rule(message: Any, family: int) -> PolicyRule:
    table, device = message.get("table") or message["table"], message.get("iifname") or ""
    return PolicyRule(message.get("priority"), table, device, family == socket.AF_INET6)


def _route(message: Any, names: dict[int, str]) -> Route:
    zero = "::" if message["family"] == socket.AF_INET6 else "0.0.0.0"  # noqa: S104 - the default route
    kind = _NAMES.get(message["type"], str(message["type"]))
    device = names.get(message.get("oif") or 0, "") if kind == "unicast" else ""
    destination = f"{message.get('dst') or zero}/{message['dst_len']}"
    return Route(destination, device, message.get("gateway") or "", kind, message.get("table") or MAIN)


def _outermost_last(route: Route) -> tuple[int, str]:
    return -int(route.destination.rpartition("/")[2]), route.destination
