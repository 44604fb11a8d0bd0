"""Entries of prefix lists: changed from one version to the next, read at any version, and brought back."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import ids, paging, parameters, prefix_lists
from hive_emulator.errors import ApiError

Entries = list[dict[str, str]]


@action("ModifyManagedPrefixList")
def modify_managed_prefix_list(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    record = ids.find(call, prefix_lists.KIND, params["PrefixListId"])
    changes = bool(params.get("AddEntries") or params.get("RemoveEntries"))
    if changes and "MaxEntries" in params:
        raise parameters.combination(
            "You cannot modify the entries and the maximum entries for the prefix list in the same request."
        )
    changed = {name: value for name, value in record.items() if name != "StateMessage"}
    changed["State"] = "modify-complete"
    if "PrefixListName" in params:
        changed["PrefixListName"] = prefix_lists.checked_name(params["PrefixListName"])
    if "MaxEntries" in params:
        changed["MaxEntries"] = _resized(record, params["MaxEntries"])
    if changes:
        _check_version(record, params.get("CurrentVersion"))
        changed |= _next_version(record, _edited(record, params))
    return _keep(call, changed, "modify-in-progress")


def _keep(call: Call, record: dict[str, Any], shown: str) -> dict[str, Any]:
    call.cloud.put(prefix_lists.KIND, record["PrefixListId"], record)
    return {"PrefixList": {**record, "State": shown}}


def _resized(record: dict[str, Any], most: int) -> int:
    parameters.within(most, "MaxEntries", 1, prefix_lists.MOST_ENTRIES)
    prefix_lists.check_room(_current(record), most)
    return most


def _check_version(record: dict[str, Any], given: int | None) -> None:
    if given is None:
        raise parameters.missing("CurrentVersion")
    if given != record["Version"]:
        raise ApiError("PrefixListVersionMismatch", "The prefix list has the incorrect version number.")


def _current(record: dict[str, Any]) -> Entries:
    entries: Entries = record["_Versions"][str(record["Version"])]
    return entries


def _edited(record: dict[str, Any], params: dict[str, Any]) -> Entries:
    """The entries after a change: what is added replaces what has the same block, so that descriptions change."""
    family = record["AddressFamily"]
    removed = [prefix_lists.checked_entry(family, each)["Cidr"] for each in params.get("RemoveEntries", ())]
    added = [prefix_lists.checked_entry(family, each) for each in params.get("AddEntries", ())]
    entries = {each["Cidr"]: each for each in _current(record)}
    for block in removed:
        if block not in entries:
            raise parameters.invalid(block, "RemoveEntry.Cidr", "an entry of the prefix list")
        if any(each["Cidr"] == block for each in added):
            raise parameters.combination(f"The entry {block} can't be added and removed in one request")
        del entries[block]
    entries |= {each["Cidr"]: each for each in added}
    prefix_lists.check_room(list(entries.values()), record["MaxEntries"])
    return list(entries.values())


def _next_version(record: dict[str, Any], entries: Entries) -> dict[str, Any]:
    version = record["Version"] + 1
    return {"Version": version, "_Versions": {**record["_Versions"], str(version): entries}}


@action("RestoreManagedPrefixListVersion")
def restore_managed_prefix_list_version(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    record = ids.find(call, prefix_lists.KIND, params["PrefixListId"])
    _check_version(record, params["CurrentVersion"])
    old = _at(record, params["PreviousVersion"])
    prefix_lists.check_room(old, record["MaxEntries"])
    changed = {**record, "State": "restore-complete", **_next_version(record, old)}
    return _keep(call, changed, "restore-in-progress")


def _at(record: dict[str, Any], version: int) -> Entries:
    entries: Entries | None = record["_Versions"].get(str(version))
    if entries is None:
        raise parameters.invalid(version, "version", f"a version of the prefix list, 1 to {record['Version']}")
    return entries


@action("GetManagedPrefixListEntries")
def get_managed_prefix_list_entries(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    record = prefix_lists.find(call, params["PrefixListId"])
    if "_Entries" in record:  # one of AWS's: it has no versions
        entries = record["_Entries"]
    else:
        entries = _at(record, params.get("TargetVersion", record["Version"]))
    return paging.page("Entries", entries, params, "Cidr", lowest=1, highest=100)


@action("GetManagedPrefixListAssociations")
def get_managed_prefix_list_associations(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """The groups and route tables that name a list."""
    list_id = ids.find(call, prefix_lists.KIND, params["PrefixListId"])["PrefixListId"]
    rules = call.cloud.by("security-group-rule", "PrefixListId", list_id)
    tables = call.cloud.by("route-table", "PrefixListId", list_id)
    users = [*(rule["GroupId"] for rule in rules), *(table["RouteTableId"] for table in tables)]
    rows = [{"ResourceId": each, "ResourceOwner": call.account} for each in dict.fromkeys(users)]
    return paging.page("PrefixListAssociations", rows, params, "ResourceId", highest=255)
