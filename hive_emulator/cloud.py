"""A unit of work over the store, for one account and region.

Reads come from the state with the staged writes laid over them; writes are staged and committed together
when the behaviour has returned. What was read is remembered, so that the commit fails with ``Conflict``
(and the behaviour is run again) if any of it has changed in between: by identity for a record, by the
table's version for a scan.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Set
from itertools import islice
from typing import Any

from hive_emulator.store.base import Change, Store
from hive_emulator.store.state import Record, State, Table


def _field(name: str) -> Callable[[dict[str, Any]], Iterable[Any]]:
    return lambda record: (record[name],) if record.get(name) else ()


def _attached_instance(record: dict[str, Any]) -> Iterable[Any]:
    attachment = record.get("Attachment") or {}
    return (attachment["InstanceId"],) if attachment.get("InstanceId") else ()


def _volume_instances(record: dict[str, Any]) -> Iterable[Any]:
    return [each["InstanceId"] for each in record.get("Attachments") or () if each.get("InstanceId")]


def _group_ids(record: dict[str, Any]) -> Iterable[Any]:
    return [each["GroupId"] for each in record.get("Groups") or () if each.get("GroupId")]


def _live(record: dict[str, Any]) -> bool:
    return bool(record["State"]["Name"] != "terminated")


def _live_type(record: dict[str, Any]) -> Iterable[Any]:
    return (record["InstanceType"],) if _live(record) else ()


def _live_placement_group(record: dict[str, Any]) -> Iterable[Any]:
    name = record["Placement"].get("GroupName")
    return (name,) if name and _live(record) else ()


def _terminated(record: dict[str, Any]) -> Iterable[Any]:
    return () if _live(record) else (True,)


def _image_snapshots(record: dict[str, Any]) -> Iterable[Any]:
    ebs = (mapping.get("Ebs") or {} for mapping in record["BlockDeviceMappings"])
    return [each["SnapshotId"] for each in ebs if each.get("SnapshotId")]


def _attached_vpcs(record: dict[str, Any]) -> Iterable[Any]:
    return [each["VpcId"] for each in record.get("Attachments") or ()]


def _attachment_id(record: dict[str, Any]) -> Iterable[Any]:
    attachment = record.get("Attachment") or {}
    return (attachment["AttachmentId"],) if attachment.get("AttachmentId") else ()


def _private_addresses(record: dict[str, Any]) -> Iterable[Any]:
    subnet = record["SubnetId"]
    held = [each["PrivateIpAddress"] for each in record["PrivateIpAddresses"]]
    return [f"{subnet} {each}" for each in (*held, *(v6["Ipv6Address"] for v6 in record["Ipv6Addresses"]))]


def _public_addresses(record: dict[str, Any]) -> Iterable[Any]:
    return [each["Association"]["PublicIp"] for each in record["PrivateIpAddresses"] if "Association" in each]


def _route_associations(record: dict[str, Any]) -> Iterable[Any]:
    return [each["RouteTableAssociationId"] for each in record["Associations"]]


def _acl_associations(record: dict[str, Any]) -> Iterable[Any]:
    return [each["NetworkAclAssociationId"] for each in record["Associations"]]


def _prefix_list_routes(record: dict[str, Any]) -> Iterable[Any]:
    return [each["DestinationPrefixListId"] for each in record["Routes"] if "DestinationPrefixListId" in each]


def _attachment_vpcs(record: dict[str, Any]) -> Iterable[Any]:
    return [each["VpcId"] for each in record["VpcAttachments"] if each["State"] == "attached"]


def _peered_vpcs(record: dict[str, Any]) -> Iterable[Any]:
    sides = (record["RequesterVpcInfo"], record["AccepterVpcInfo"])
    return [each["VpcId"] for each in sides] if record["Status"]["Code"] in ("pending-acceptance", "active") else ()


def _referenced_group(record: dict[str, Any]) -> Iterable[Any]:
    info = record.get("ReferencedGroupInfo")
    return (info["GroupId"],) if info else ()


# The relations that are looked up often, by kind and the name given to ``Cloud.by``. Add what you need here.
INDEXES: dict[tuple[str, str], Callable[[dict[str, Any]], Iterable[Any]]] = {
    ("subnet", "VpcId"): _field("VpcId"),
    ("security-group", "VpcId"): _field("VpcId"),
    ("security-group", "GroupName"): _field("GroupName"),
    ("security-group-rule", "GroupId"): _field("GroupId"),
    ("security-group-rule", "ReferencedGroupId"): _referenced_group,
    ("internet-gateway", "VpcId"): _attached_vpcs,
    ("egress-only-internet-gateway", "VpcId"): _attached_vpcs,
    ("route-table", "VpcId"): _field("VpcId"),
    ("route-table", "AssociationId"): _route_associations,
    ("network-acl", "VpcId"): _field("VpcId"),
    ("network-acl", "AssociationId"): _acl_associations,
    ("vpc", "DhcpOptionsId"): _field("DhcpOptionsId"),
    ("network-interface", "VpcId"): _field("VpcId"),
    ("network-interface", "SubnetId"): _field("SubnetId"),
    ("network-interface", "InstanceId"): _attached_instance,
    ("network-interface", "GroupId"): _group_ids,
    ("network-interface", "AttachmentId"): _attachment_id,
    ("network-interface", "PublicIp"): _public_addresses,
    ("network-interface", "address"): _private_addresses,  # "SUBNET ADDRESS"
    ("elastic-ip", "NetworkInterfaceId"): _field("NetworkInterfaceId"),
    ("elastic-ip", "AssociationId"): _field("AssociationId"),
    ("elastic-ip", "PublicIp"): _field("PublicIp"),
    ("volume", "InstanceId"): _volume_instances,
    ("instance", "VpcId"): _field("VpcId"),
    ("instance", "InstanceType"): _live_type,
    ("instance", "Terminated"): _terminated,
    ("instance", "PlacementGroup"): _live_placement_group,
    ("image", "SnapshotId"): _image_snapshots,
    ("security-group-rule", "PrefixListId"): _field("PrefixListId"),
    ("route-table", "PrefixListId"): _prefix_list_routes,
    ("vpc-endpoint", "VpcId"): _field("VpcId"),
    ("vpc-endpoint", "ServiceName"): _field("ServiceName"),
    ("vpc-peering-connection", "VpcId"): _peered_vpcs,
    ("vpn-gateway", "VpcId"): _attachment_vpcs,
    ("vpc-flow-log", "ResourceId"): _field("ResourceId"),
    ("transit-gateway-attachment", "TransitGatewayId"): _field("TransitGatewayId"),
    ("transit-gateway-attachment", "VpcId"): _field("VpcId"),
    ("transit-gateway-attachment", "RouteTableId"): _field("_RouteTableId"),
    ("transit-gateway-route-table", "TransitGatewayId"): _field("TransitGatewayId"),
    ("launch-template", "LaunchTemplateName"): _field("LaunchTemplateName"),
    ("key-pair", "KeyName"): _field("KeyName"),
    ("placement-group", "GroupName"): _field("GroupName"),
}

_EMPTY = Table()


class Cloud:
    """Records of one account and region, as one request sees and changes them."""

    _hidden: Set[tuple[str, str]] = frozenset()

    def __init__(self, state: State, account: str, region: str) -> None:
        self._state = state
        self._account = account
        self._region = region
        self._tables = state.tables(account, region)
        self._staged: dict[tuple[str, str], Record | None] = {}
        self._overlays: dict[str, Table | None] = {}  # of kinds with something staged; a table once they are read
        self._read: dict[tuple[str, str], Record | None] = {}
        self._scanned: dict[str, int] = {}
        self._others: dict[tuple[str, str], Cloud] = {}

    def at(self, account: str, region: str) -> Cloud:
        """The records of another account or region: read and written in the same unit of work."""
        place = (account, region)
        if place == (self._account, self._region):
            return self
        if place not in self._others:
            self._others[place] = Cloud(self._state, account, region)
        return self._others[place]

    def in_region(self, region: str) -> Cloud:
        """This account's records in another region."""
        return self.at(self._account, region)

    def accounts(self) -> list[str]:
        """The accounts that have anything in this region."""
        return self._state.accounts(self._region)

    def get(self, kind: str, id: str) -> Record | None:
        """The record, or None. Read-only: build a new dict to put."""
        key = (kind, id)
        if key in self._staged:
            return self._staged[key]
        table = self._tables.get(kind)
        record = table.records.get(id) if table is not None else None
        if self._hidden and key in self._hidden:
            return None
        self._read[key] = record
        return record

    def all(self, kind: str) -> list[Record]:
        """Every record of a kind, in creation order, staged writes included."""
        table = self._scan(kind)
        overlay = self._overlay(kind)
        if overlay is None and not self._hidden:
            return list(table.records.values())
        merged = {**table.records, **(overlay.records if overlay else {})}
        return [record for id, record in merged.items() if not self._is_gone(kind, id)]

    def by(self, kind: str, field: str, value: Any) -> list[Record]:
        """Every record of a kind whose ``field`` has ``value``: (kind, field) must be in ``INDEXES``."""
        extract = INDEXES[kind, field]
        table = self._scan(kind)
        ids = table.index(field, extract).get(value, {}) if table is not _EMPTY else {}
        overlay = self._overlay(kind)
        if overlay is None and not self._hidden:
            return [table.records[id] for id in ids]
        found = [table.records[id] for id in ids if (kind, id) not in self._staged and not self._is_gone(kind, id)]
        if overlay is not None:
            found += [overlay.records[id] for id in overlay.index(field, extract).get(value, {})]
        return found

    def oldest(self, kind: str, count: int) -> list[tuple[str, Record]]:
        """The first ``count`` stored records of a kind with their ids; not remembered as read."""
        return list(islice(self._tables.get(kind, _EMPTY).records.items(), count))

    def put(self, kind: str, id: str, record: dict[str, Any]) -> Record:
        """Stage a record; returns it as it will be stored."""
        stored = Record(record)
        self._stage(kind, id, stored)
        return stored

    def delete(self, kind: str, id: str) -> None:
        """Stage a deletion."""
        self._stage(kind, id, None)

    def _stage(self, kind: str, id: str, record: Record | None) -> None:
        key = (kind, id)
        if key not in self._read and key not in self._staged:
            self.get(kind, id)
        self._staged[key] = record
        overlay = self._overlays.setdefault(kind, None)
        if overlay is not None:
            overlay.write(id, record)

    def _overlay(self, kind: str) -> Table | None:
        """The staged records of a kind, as a table so that indexes cover them too; None when there are none."""
        overlay = self._overlays.get(kind)
        if overlay is None and kind in self._overlays:
            overlay = self._overlays[kind] = Table()
            for (staged, id), record in self._staged.items():
                if staged == kind:
                    overlay.write(id, record)
        return overlay

    def _is_gone(self, kind: str, id: str) -> bool:
        """True for what is staged to be deleted, or too young to be seen."""
        return self._staged.get((kind, id), self) is None or (
            (kind, id) in self._hidden and (kind, id) not in self._staged
        )

    def _scan(self, kind: str) -> Table:
        table = self._tables.get(kind, _EMPTY)
        self._scanned.setdefault(kind, table.version)
        return table

    # --- for whoever runs the behaviour ---

    def hide_younger(self, seconds: float) -> None:
        """Don't see what was created less than ``seconds`` ago: a cloud that is not yet consistent."""
        self._hidden = self._state.born_within(self._account, self._region, seconds)

    @property
    def changes(self) -> list[Change]:
        """What is staged."""
        own = [Change(self._account, self._region, kind, id, r) for (kind, id), r in self._staged.items()]
        return own + [change for other in self._others.values() for change in other.changes]

    def unchanged(self) -> bool:
        """True while everything that was read is still what it was."""
        tables = self._tables
        if not all(other.unchanged() for other in self._others.values()):
            return False
        for (kind, id), record in self._read.items():
            if tables.get(kind, _EMPTY).records.get(id) is not record:
                return False
        return all(tables.get(kind, _EMPTY).version == version for kind, version in self._scanned.items())

    def commit(self, store: Store) -> Awaitable[None]:
        """Write what is staged, or wait until what was read is kept."""
        changes = self.changes
        return store.commit(changes, self.unchanged) if changes else store.settled()
