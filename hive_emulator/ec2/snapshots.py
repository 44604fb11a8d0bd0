"""Snapshots: of volumes, copies of snapshots, and the public ones behind the stock images."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import dependencies, encryption, filters, ids, paging, parameters, stock, tagging
from hive_emulator.errors import ApiError

NO_VOLUME = "vol-ffffffff"  # what AWS shows for a copy, whose volume is none of the account's

FILTERS = filters.table(
    "DescribeSnapshots",
    {
        "description": "Description",
        "encrypted": "Encrypted",
        "owner-alias": "OwnerAlias",
        "owner-id": stock.owners,
        "progress": "Progress",
        "snapshot-id": "SnapshotId",
        "start-time": "StartTime",
        "status": "State",
        "storage-tier": "StorageTier",
        "transfer-type": lambda snapshot: "standard",
        "volume-id": "VolumeId",
        "volume-size": "VolumeSize",
    },
)


@action("CreateSnapshot")
def create_snapshot(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    parameters.refuse(params, "OutpostArn")
    volume = ids.find(call, "volume", params["VolumeId"])
    tags = tagging.on_create(params, "snapshot")
    return _starting(of_volume(call, volume, params.get("Description", ""), tags))


def of_volume(call: Call, volume: dict[str, Any], description: str, tags: tagging.Tags) -> dict[str, Any]:
    """A new snapshot of a volume of this account."""
    same_key: dict[str, Any] = {key: volume[key] for key in ("Encrypted", "KmsKeyId") if key in volume}
    return _keep(
        call,
        {"VolumeId": volume["VolumeId"], "VolumeSize": volume["Size"], **same_key},
        description,
        tags,
    )


@action("CopySnapshot")
def copy_snapshot(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    parameters.refuse(params, "DestinationOutpostArn", "DestinationAvailabilityZone", "CompletionDurationMinutes")
    wanted = params["SourceSnapshotId"]
    known = call.cloud.in_region(params["SourceRegion"]).get("snapshot", wanted)
    source = known or stock.snapshots().get(wanted)
    if source is None:
        raise ids.not_found("snapshot", wanted)
    origin = {"VolumeId": NO_VOLUME, "VolumeSize": source["VolumeSize"]}
    tags = tagging.on_create(params, "snapshot")
    copy = _keep(call, {**origin, **encryption.members(call, params, source)}, params.get("Description", ""), tags)
    return {"SnapshotId": copy["SnapshotId"], "Tags": copy["Tags"]}


@action("DescribeSnapshots")
def describe_snapshots(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    wanted = params.get("SnapshotIds")
    if wanted:
        found = ids.each(wanted, lambda one: find(call, one))
    else:
        found = [*call.cloud.all("snapshot"), *stock.snapshots().values()]
    found = [one for one in found if _owned(call, one, params) and _restorable(call, one, params)]
    found = filters.apply(found, params.get("Filters"), FILTERS)
    return paging.page("Snapshots", found, params, "SnapshotId")


@action("DeleteSnapshot")
def delete_snapshot(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    snapshot = find(call, params["SnapshotId"])
    snapshot_id = snapshot["SnapshotId"]
    if snapshot["OwnerId"] != call.account:
        raise ApiError("UnauthorizedOperation", f"You are not authorized to delete {snapshot_id}.", 403)
    dependencies.check(call, "snapshot", snapshot_id)
    call.cloud.delete("snapshot", snapshot_id)
    return {}


@action("DescribeSnapshotAttribute")
def describe_snapshot_attribute(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    snapshot = find(call, params["SnapshotId"])
    if snapshot["OwnerId"] != call.account:
        raise ApiError("AuthFailure", f"Not authorized for snapshot: {snapshot['SnapshotId']}", 403)
    member = {"createVolumePermission": "CreateVolumePermissions", "productCodes": "ProductCodes"}
    return {"SnapshotId": snapshot["SnapshotId"], member[params["Attribute"]]: []}


def find(call: Call, snapshot_id: str) -> dict[str, Any]:
    """A snapshot that this account may use: its own, or a stock image's. Else AWS's error."""
    return stock.snapshots().get(snapshot_id) or ids.find(call, "snapshot", snapshot_id)


def _keep(call: Call, origin: dict[str, Any], description: str, tags: tagging.Tags) -> dict[str, Any]:
    snapshot_id = ids.new("snap")
    return call.cloud.put(
        "snapshot",
        snapshot_id,
        {
            "SnapshotId": snapshot_id,
            **origin,
            "Description": description,
            "State": "completed",
            "Progress": "100%",
            "StartTime": call.timestamp(),
            "CompletionTime": call.timestamp(),
            "OwnerId": call.account,
            "StorageTier": "standard",
            "Tags": tags,
        },
    )


def _starting(snapshot: dict[str, Any]) -> dict[str, Any]:
    """How the call that starts a snapshot shows it; whoever asks later finds it completed."""
    started = {key: value for key, value in snapshot.items() if key != "CompletionTime"}
    return {**started, "State": "pending", "Progress": ""}


def _owned(call: Call, snapshot: dict[str, Any], params: dict[str, Any]) -> bool:
    owners = params.get("OwnerIds")
    names = {*stock.owners(snapshot), snapshot.get("OwnerAlias")}
    if snapshot["OwnerId"] == call.account:
        names.add("self")
    return not owners or not names.isdisjoint(owners)


def _restorable(call: Call, snapshot: dict[str, Any], params: dict[str, Any]) -> bool:
    users = params.get("RestorableByUserIds")
    able = {"all"} if "_Stock" in snapshot else {"self", call.account}
    return not users or not able.isdisjoint(users)
