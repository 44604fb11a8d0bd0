"""Private addresses of a subnet: which are free, and taking one.

AWS keeps the first four addresses and the last one of every subnet for itself. The others are given out in
order, from where the last one was given out, so that an address comes back into use as late as possible.
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any

from hive_emulator.action import Call
from hive_emulator.ec2 import cidrs, ids
from hive_emulator.errors import ApiError

FIRST = 4  # network, router, DNS and one kept for the future come before


def take(call: Call, subnet_id: str, wanted: Sequence[str | None]) -> list[str]:
    """Takes these addresses, or the next free one for each None; ``AvailableIpAddressCount`` goes down.

    The subnet's record is written each time, so two calls at once can't take the same address.
    """
    taken: list[str] = []
    for each in wanted:
        taken.append(_take_one(call, subnet_id, each, taken))
    return taken


def _take_one(call: Call, subnet_id: str, wanted: str | None, besides: Collection[str]) -> str:
    """``besides`` are addresses that this very call has taken before and not stored yet."""
    subnet: dict[str, Any] = ids.find(call, "subnet", subnet_id)
    network = ipaddress.IPv4Network(subnet["CidrBlock"])
    if wanted is None:
        offset = _next_free(call, subnet, network, besides)
        subnet = {**subnet, "_next_offset": offset + 1}
        wanted = str(network[offset])
    elif wanted in besides:
        raise ApiError("InvalidParameterValue", f"Address {wanted} is given twice")
    else:
        _check(call, subnet_id, network, wanted)
    count = subnet["AvailableIpAddressCount"] - 1
    call.cloud.put("subnet", subnet_id, {**subnet, "AvailableIpAddressCount": count})
    return wanted


def give_back(call: Call, subnet_id: str, count: int) -> None:
    """Makes addresses free again, once no interface holds them."""
    subnet = call.cloud.get("subnet", subnet_id)
    if subnet is not None and count:
        left = subnet["AvailableIpAddressCount"] + count
        call.cloud.put("subnet", subnet_id, {**subnet, "AvailableIpAddressCount": left})


def _next_free(call: Call, subnet: dict[str, Any], network: ipaddress.IPv4Network, besides: Collection[str]) -> int:
    if subnet["AvailableIpAddressCount"] > 0:
        end = network.num_addresses - 1
        start = subnet.get("_next_offset", FIRST)
        for offset in chain(range(start, end), range(FIRST, min(start, end))):
            address = str(network[offset])
            if address not in besides and not _held(call, subnet["SubnetId"], address):
                return offset
    raise ApiError(
        "InsufficientFreeAddressesInSubnet",
        f"There are not enough free addresses in subnet '{subnet['SubnetId']}' to satisfy the request.",
    )


def _held(call: Call, subnet_id: str, address: str) -> bool:
    return bool(call.cloud.by("network-interface", "address", f"{subnet_id} {address}"))


def _check(call: Call, subnet_id: str, network: ipaddress.IPv4Network, wanted: str) -> None:
    try:
        address = ipaddress.IPv4Address(wanted)
    except ValueError:
        raise ApiError("InvalidParameterValue", f"invalid value for parameter address: {wanted}") from None
    if address not in network:
        raise ApiError("InvalidParameterValue", "Address does not fall within the subnet's address range")
    offset = int(address) - int(network.network_address)
    if offset < FIRST or offset == network.num_addresses - 1:
        raise ApiError("InvalidParameterValue", "Address is in subnet's reserved address range")
    if _held(call, subnet_id, wanted):
        raise ApiError("InvalidIPAddress.InUse", f"Address {wanted} is in use.")


def take_ipv6(call: Call, subnet_id: str, wanted: Sequence[str | None]) -> list[str]:
    """These IPv6 addresses out of the subnet's /64, or any free one for each None."""
    taken = [_take_one_ipv6(call, subnet_id, each) for each in wanted]
    if len(set(taken)) != len(taken):
        raise ApiError("InvalidParameterValue", "An IPv6 address is given twice")
    return taken


def _take_one_ipv6(call: Call, subnet_id: str, wanted: str | None) -> str:
    subnet = call.cloud.get("subnet", subnet_id)
    blocks = cidrs.ipv6_blocks(subnet) if subnet else []
    if not blocks:
        raise ApiError("InvalidParameterValue", f"Subnet {subnet_id} has no IPv6 CIDR block to take an address from")
    network = ipaddress.IPv6Network(blocks[0])
    if wanted is None:
        return str(network[secrets.randbits(63) + 16])
    try:
        address = ipaddress.IPv6Address(wanted)
    except ValueError:
        raise ApiError("InvalidParameterValue", f"invalid value for parameter address: {wanted}") from None
    if address not in network:
        raise ApiError("InvalidParameterValue", "Address does not fall within the subnet's address range")
    if _held(call, subnet_id, str(address)):
        raise ApiError("InvalidIPAddress.InUse", f"Address {address} is in use.")
    return str(address)
