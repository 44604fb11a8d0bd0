"""Address blocks: how AWS reads them, and what it says about bad ones."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Iterable
from typing import Any

from hive_emulator.errors import ApiError

Block = ipaddress.IPv4Network | ipaddress.IPv6Network

# Where the IPv6 blocks of VPCs are taken from: Amazon's range for this part of the world.
IPV6_POOL = ipaddress.IPv6Network("2406:da1c::/32")

# No VPC may have these: this host, loopback, link-local, multicast.
_NEVER = [ipaddress.IPv4Network(each) for each in ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4")]


def fits_a_vpc(block: ipaddress.IPv4Network) -> bool:
    """True for a block from /16 to /28 that a VPC may have."""
    return 16 <= block.prefixlen <= 28 and not any(block.overlaps(each) for each in _NEVER)


def ipv4(text: str, parameter: str) -> ipaddress.IPv4Network:
    """An IPv4 block; host bits are cut off, as AWS does."""
    try:
        if "/" not in text:
            raise ValueError(text)
        return ipaddress.IPv4Network(text, strict=False)
    except ValueError:
        raise _bad(text, parameter) from None


def ipv6(text: str, parameter: str) -> ipaddress.IPv6Network:
    """An IPv6 block; host bits are cut off, as AWS does."""
    try:
        if "/" not in text or "%" in text:
            raise ValueError(text)
        return ipaddress.IPv6Network(text, strict=False)
    except ValueError:
        raise _bad(text, parameter) from None


def _bad(text: str, parameter: str) -> ApiError:
    return ApiError(
        "InvalidParameterValue",
        f"Value ({text}) for parameter {parameter} is invalid. This is not a valid CIDR block.",
    )


def overlapping(block: Block, others: Iterable[str]) -> str | None:
    """The first of the other blocks that shares an address with this one."""
    for other in others:
        if block.overlaps(ipaddress.ip_network(other)):
            return other
    return None


def inside(block: Block, outer: Iterable[str]) -> bool:
    """Whether one of the outer blocks holds this one."""
    for each in outer:
        network = ipaddress.ip_network(each)
        if network.version == block.version and block.subnet_of(network):  # type: ignore[arg-type]
            return True
    return False


def random_ipv6_block() -> str:
    """A /56 for a VPC."""
    return str(ipaddress.IPv6Network((int(IPV6_POOL.network_address) + (secrets.randbits(24) << 72), 56)))


def associated(associations: list[dict[str, Any]], state: str) -> list[dict[str, Any]]:
    """Those in force. One that was taken away stays listed until the next change: callers wait for that."""
    return [each for each in associations if each[state]["State"] == "associated"]


def ipv4_blocks(vpc: dict[str, Any]) -> list[str]:
    """The IPv4 blocks of a VPC."""
    return [each["CidrBlock"] for each in associated(vpc["CidrBlockAssociationSet"], "CidrBlockState")]


def ipv6_blocks(owner: dict[str, Any]) -> list[str]:
    """The IPv6 blocks of a VPC or a subnet."""
    held = associated(owner["Ipv6CidrBlockAssociationSet"], "Ipv6CidrBlockState")
    return [each["Ipv6CidrBlock"] for each in held]
