"""Quotas of the EC2 families: a name, AWS's number where it is on by default, and what it counts.

``CloudConfig.quotas`` sets or overrides any of them; ``None`` here means no limit unless it is set.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping, Sized
from typing import Any

from hive_emulator.action import Call
from hive_emulator.ec2 import catalog
from hive_emulator.errors import ApiError

QUOTAS: dict[str, tuple[int | None, str]] = {
    "instances": (None, "instances that run"),
    "vcpus": (None, "vCPUs of all instances that run"),
    "vcpus-standard": (None, "vCPUs of instances of the A, C, D, H, I, M, R, T and Z families that run"),
    "vcpus-g": (None, "vCPUs of instances of the G families that run"),
    "volumes-gib": (None, "GiB of all volumes"),
    "vpcs": (None, "VPCs in a region"),
    "subnets-per-vpc": (None, "subnets in a VPC"),
    "cidrs-per-vpc": (5, "IPv4 blocks of a VPC, the first one included"),
    "security-groups": (None, "security groups in a region"),
    "rules-per-security-group": (60, "rules of a security group, in each direction, for IPv4 and for IPv6"),
    "security-groups-per-interface": (5, "security groups of a network interface"),
    "internet-gateways": (None, "internet gateways in a region"),
    "egress-only-internet-gateways": (None, "egress-only internet gateways in a region"),
    "route-tables-per-vpc": (200, "route tables in a VPC"),
    "network-acls-per-vpc": (200, "network ACLs of a VPC"),
    "rules-per-network-acl": (20, "entries of a network ACL, in each direction"),
    "routes-per-table": (500, "routes of a route table, local ones left out"),
    "network-interfaces": (None, "network interfaces in a region"),
    "addresses": (None, "elastic IP addresses in a region"),
    "peering-connections-per-vpc": (50, "peering connections of a VPC, active or asked for"),
    "vpn-gateways": (None, "VPN gateways in a region"),
    "customer-gateways": (None, "customer gateways in a region"),
    "transit-gateways": (None, "transit gateways in a region"),
    "nat-gateways-per-zone": (None, "NAT gateways in an availability zone"),
}

# What AWS gives a new account where nothing is set here.
AWS_NUMBERS = {
    "vcpus-standard": 5,
    "vcpus-g": 0,
    "volumes-gib": 51_200,
    "vpcs": 5,
    "subnets-per-vpc": 200,
    "security-groups": 2500,
    "internet-gateways": 5,
    "egress-only-internet-gateways": 5,
    "network-interfaces": 5000,
    "addresses": 5,
    "nat-gateways-per-zone": 5,
    "vpn-gateways": 5,
    "customer-gateways": 50,
    "transit-gateways": 5,
}


class LimitsError(ValueError):
    """A capacity or quota that can't be set; the text says why."""


def capacity(given: Mapping[str, Any]) -> dict[str, int]:
    """Capacities by instance type, as ``CloudConfig`` keeps them."""
    known = catalog.types() if given else ()  # a start without any need not read the catalog
    return _numbers("capacity", given, known, "DescribeInstanceTypes lists them")


def quotas(given: Mapping[str, Any]) -> dict[str, int]:
    """Quotas by name, as ``CloudConfig`` keeps them."""
    return _numbers("quotas", given, QUOTAS, f"there are {', '.join(QUOTAS)}")


def _numbers(kind: str, given: Mapping[str, Any], known: Collection[str], hint: str) -> dict[str, int]:
    for name, number in given.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise LimitsError(f"{kind}: '{name}' is not known; {f'did you mean {near[0]}?' if near else hint}")
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise LimitsError(f"{kind}: {name} is {number!r}, expected a whole number, 0 or more")
    return dict(given)


def check(call: Call, name: str, held: Callable[[], Sized], code: str, noun: str, *, more: int = 1) -> None:
    """Refuses with AWS's code when ``more`` than those held would pass the quota. Counts only if set."""
    limit = call.config.quotas.get(name, QUOTAS[name][0])
    if limit is not None and len(held()) + more > limit:
        raise ApiError(code, f"The maximum number of {noun} has been reached (quota '{name}': {limit}).")
