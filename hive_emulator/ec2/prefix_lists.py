"""Prefix lists: AWS's own, which are there from the start, and those of users, with versions and entries.

Every change of a user's list is a version of its own. A list that a rule or a route names counts there as the
entries that it may have, not those that it has.
"""

from __future__ import annotations

import hashlib
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import cidrs, dependencies, filters, ids, paging, parameters, partitions, tagging
from hive_emulator.errors import ApiError

KIND = "prefix-list"
MOST_ENTRIES = 1000
# Name (with {region}), family, how many rules it counts as, blocks: of documentation ranges, nothing is sent there.
_OF_AWS = (
    ("com.amazonaws.{region}.s3", "IPv4", 1, ("198.51.100.0/25", "203.0.113.0/26")),
    ("com.amazonaws.{region}.dynamodb", "IPv4", 1, ("198.51.100.128/26",)),
    ("com.amazonaws.{region}.vpc-lattice", "IPv4", 10, ("169.254.171.0/24",)),
    ("com.amazonaws.{region}.ipv6.vpc-lattice", "IPv6", 10, ("fd00:ec2:80::/64",)),
    ("com.amazonaws.{region}.ec2-instance-connect", "IPv4", 2, ("203.0.113.64/29",)),
    ("com.amazonaws.{region}.route53-healthchecks", "IPv4", 25, ("203.0.113.128/28",)),
    ("com.amazonaws.global.cloudfront.origin-facing", "IPv4", 55, ("198.51.100.192/26", "203.0.113.192/26")),
    ("com.amazonaws.global.groundstation", "IPv4", 5, ("203.0.113.160/28",)),
)

AWS_FILTERS = filters.table(
    "DescribePrefixLists", {"prefix-list-id": "PrefixListId", "prefix-list-name": "PrefixListName"}
)
FILTERS = filters.table(
    "DescribeManagedPrefixLists",
    {"owner-id": "OwnerId", "prefix-list-id": "PrefixListId", "prefix-list-name": "PrefixListName"},
)


def of_aws(call: Call) -> dict[str, dict[str, Any]]:
    """AWS's own lists of this region, by id. Their ids are made from their names and never change."""
    found = {}
    for name, family, weight, blocks in _OF_AWS:
        full = name.format(region=call.region)
        list_id = f"pl-{hashlib.sha256(f'{call.region} {full}'.encode()).hexdigest()[:8]}"
        found[list_id] = {
            "PrefixListId": list_id,
            "AddressFamily": family,
            "State": "create-complete",
            "PrefixListArn": f"arn:{partitions.of(call.region)}:ec2:{call.region}:aws:prefix-list/{list_id}",
            "PrefixListName": full,
            "OwnerId": "AWS",
            "Tags": [],
            "_Weight": weight,
            "_Entries": [{"Cidr": block} for block in blocks],
        }
    return found


def of_service(call: Call, service_name: str) -> str | None:
    """The id of the list with the addresses of a service that has gateway endpoints."""
    for list_id, record in of_aws(call).items():
        if record["PrefixListName"] == service_name:
            return list_id
    return None


def find(call: Call, list_id: str | None) -> dict[str, Any]:
    """One of AWS's or the account's lists, or AWS's error."""
    known = of_aws(call).get(list_id or "")
    return known if known else ids.find(call, KIND, list_id)


def weight(call: Call, list_id: str) -> int:
    """How many rules or routes one that names the list counts as."""
    record = of_aws(call).get(list_id) or call.cloud.get(KIND, list_id) or {}
    return int(record.get("_Weight") or record.get("MaxEntries", 1))


@action("DescribePrefixLists")
def describe_prefix_lists(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    known = of_aws(call)
    wanted = params.get("PrefixListIds") or known
    for each in wanted:
        if each not in known:
            raise ids.not_found(KIND, each)
    shown = [{**known[each], "Cidrs": [one["Cidr"] for one in known[each]["_Entries"]]} for each in wanted]
    return paging.page(
        "PrefixLists", filters.apply(shown, params.get("Filters"), AWS_FILTERS), params, "PrefixListId"
    )


@action("CreateManagedPrefixList")
def create_managed_prefix_list(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    name, family = checked_name(params["PrefixListName"]), params["AddressFamily"]
    if family not in ("IPv4", "IPv6"):
        raise parameters.invalid(family, "AddressFamily", "IPv4, IPv6")
    most = parameters.within(params["MaxEntries"], "MaxEntries", 1, MOST_ENTRIES)
    entries = [checked_entry(family, each) for each in params.get("Entries", ())]
    check_room(entries, most)
    list_id = ids.new("pl")
    record = {
        "PrefixListId": list_id,
        "AddressFamily": family,
        "State": "create-complete",
        "PrefixListArn": partitions.arn(call, f"prefix-list/{list_id}"),
        "PrefixListName": name,
        "MaxEntries": most,
        "Version": 1,
        "OwnerId": call.account,
        "Tags": tagging.on_create(params, KIND),
        "_Versions": {"1": entries},
    }
    return {"PrefixList": {**call.cloud.put(KIND, list_id, record), "State": "create-in-progress"}}


def checked_name(name: str) -> str:
    if name.startswith("com.amazonaws") or not 1 <= len(name) <= 255:
        raise parameters.invalid(name, "PrefixListName", "up to 255 characters that don't begin with com.amazonaws")
    return name


def checked_entry(family: str, entry: dict[str, Any]) -> dict[str, str]:
    read = cidrs.ipv4 if family == "IPv4" else cidrs.ipv6
    note = {"Description": entry["Description"]} if entry.get("Description") else {}
    return {"Cidr": str(read(entry["Cidr"], "cidr")), **note}


def check_room(entries: list[dict[str, str]], most: int) -> None:
    blocks = [each["Cidr"] for each in entries]
    if len(set(blocks)) != len(blocks):
        raise ApiError("InvalidParameterValue", "The same CIDR must not appear multiple times in a prefix list")
    if len(entries) > most:
        raise ApiError(
            "PrefixListMaxEntriesExceeded",
            f"The prefix list would have {len(entries)} entries, more than its maximum of {most}.",
        )


@action("DescribeManagedPrefixLists")
def describe_managed_prefix_lists(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    wanted = params.get("PrefixListIds")
    if wanted:
        found = ids.each(wanted, lambda one: find(call, one))
    else:
        found = [*call.cloud.all(KIND), *of_aws(call).values()]
    chosen = filters.apply(found, params.get("Filters"), FILTERS)
    return paging.page("PrefixLists", chosen, params, "PrefixListId", lowest=1, highest=100)


@action("DeleteManagedPrefixList")
def delete_managed_prefix_list(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """One that is in use stays, in the state ``delete-failed``: AWS takes the call, and says so afterwards."""
    record = ids.find(call, KIND, params["PrefixListId"])
    try:
        dependencies.check(call, KIND, record["PrefixListId"])
    except ApiError as error:
        failed = {**record, "State": "delete-failed", "StateMessage": error.message}
        call.cloud.put(KIND, record["PrefixListId"], failed)
    else:
        call.cloud.delete(KIND, record["PrefixListId"])
    return {"PrefixList": {**record, "State": "delete-in-progress"}}
