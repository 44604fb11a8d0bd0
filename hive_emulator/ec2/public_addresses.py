"""Public IPv4 addresses: a pool of their own, and how an interface shows the one that it is reached by.

The pool is the range that RFC 2544 keeps for tests: nobody on the internet has these addresses, so a program
that connects to one by mistake reaches no stranger.
"""

from __future__ import annotations

import ipaddress
import secrets
from typing import Any

from hive_emulator.action import Call
from hive_emulator.cloud import Cloud
from hive_emulator.errors import ApiError

POOL = ipaddress.IPv4Network("198.18.0.0/15")
_TRIES = 100


def free(call: Call) -> str:
    """An address that neither an elastic IP nor an interface has."""
    for _ in range(_TRIES):
        address = str(POOL[secrets.randbelow(POOL.num_addresses - 2) + 1])
        if not taken(call, address):
            return address
    raise ApiError("InsufficientAddressCapacity", "No free public address was found. Release some and try again.")


def taken(call: Call, address: str) -> bool:
    return bool(
        call.cloud.by("elastic-ip", "PublicIp", address) or call.cloud.by("network-interface", "PublicIp", address)
    )


def association(call: Call, address: str, **of_elastic_ip: str) -> dict[str, str]:
    """The ``Association`` of an interface: Amazon's own address, or an elastic IP with its ids."""
    zone = "compute-1" if call.region == "us-east-1" else f"{call.region}.compute"
    return {
        "IpOwnerId": call.account if of_elastic_ip else "amazon",
        "PublicIp": address,
        "PublicDnsName": f"ec2-{address.replace('.', '-')}.{zone}.amazonaws.com",
        **of_elastic_ip,
    }


def on_interface(
    interface: dict[str, Any], private_address: str, association: dict[str, str] | None
) -> dict[str, Any]:
    """The interface with this association on one of its private addresses, or with none there."""
    changed = dict(interface)
    changed["PrivateIpAddresses"] = [
        _with(each, association) if each["PrivateIpAddress"] == private_address else each
        for each in interface["PrivateIpAddresses"]
    ]
    if private_address == interface["PrivateIpAddress"]:
        changed = _with(changed, association)
    return changed


def with_names(cloud: Cloud, interface: dict[str, Any]) -> dict[str, Any]:
    """The interface as it is shown: with public names only where its VPC has DNS host names on."""
    vpc = cloud.get("vpc", interface["VpcId"])
    if vpc is None or vpc["_dns_hostnames"] or not any("Association" in a for a in interface["PrivateIpAddresses"]):
        return interface
    shown = {**interface, "PrivateIpAddresses": [_nameless(each) for each in interface["PrivateIpAddresses"]]}
    return _nameless(shown)


def _nameless(holder: dict[str, Any]) -> dict[str, Any]:
    if "Association" not in holder:
        return holder
    return {**holder, "Association": {**holder["Association"], "PublicDnsName": ""}}


def _with(holder: dict[str, Any], association: dict[str, str] | None) -> dict[str, Any]:
    bare = {name: value for name, value in holder.items() if name != "Association"}
    return {**bare, "Association": association} if association else bare
