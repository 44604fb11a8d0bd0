"""VPC peering connections: asked for by one VPC, accepted by another, of any account and region of this emulator.

1. Both sides have a record of it, so that each account and region sees it under its own tags.
2. What is said about the connection itself (status, options) is written to both in one unit of work.
3. One that is over (deleted, rejected, failed) is shown for a while, as in AWS.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.cloud import Cloud
from hive_emulator.ec2 import cidrs, filters, ids, limits, paging, parameters, tagging
from hive_emulator.errors import ApiError

Peering = dict[str, Any]

KIND = "vpc-peering-connection"
OVER = ("deleted", "rejected", "failed", "expired")
REMEMBERED = timedelta(hours=1)
_EXPIRES = timedelta(days=7)
_SIDES = ("RequesterVpcInfo", "AccepterVpcInfo")
_OPTIONS = {
    "AllowDnsResolutionFromRemoteVpc": False,
    "AllowEgressFromLocalClassicLinkToRemoteVpc": False,
    "AllowEgressFromLocalVpcToRemoteClassicLink": False,
}

FILTERS = filters.table(
    "DescribeVpcPeeringConnections",
    {
        "accepter-vpc-info.cidr-block": "AccepterVpcInfo.CidrBlock",
        "accepter-vpc-info.owner-id": "AccepterVpcInfo.OwnerId",
        "accepter-vpc-info.vpc-id": "AccepterVpcInfo.VpcId",
        "expiration-time": "ExpirationTime",
        "requester-vpc-info.cidr-block": "RequesterVpcInfo.CidrBlock",
        "requester-vpc-info.owner-id": "RequesterVpcInfo.OwnerId",
        "requester-vpc-info.vpc-id": "RequesterVpcInfo.VpcId",
        "status-code": "Status.Code",
        "status-message": "Status.Message",
        "vpc-peering-connection-id": "VpcPeeringConnectionId",
    },
)


@action("CreateVpcPeeringConnection")
def create_vpc_peering_connection(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    vpc = ids.find(call, "vpc", params["VpcId"])
    if "PeerVpcId" not in params:
        raise parameters.missing("peerVpcId")
    owner, region = params.get("PeerOwnerId", call.account), params.get("PeerRegion", call.region)
    theirs = call.cloud.at(owner, region)
    peer = theirs.get("vpc", params["PeerVpcId"])
    if peer is None and theirs is call.cloud:
        raise ids.not_found("vpc", params["PeerVpcId"])
    _check_quota(call, vpc["VpcId"])
    peering_id = ids.new("pcx")
    record: Peering = {
        "VpcPeeringConnectionId": peering_id,
        "RequesterVpcInfo": _side(vpc, call.account, call.region),
        "AccepterVpcInfo": _side(peer or {"VpcId": params["PeerVpcId"]}, owner, region),
        "Status": _first_status(call, vpc, peer),
        "ExpirationTime": (call.now + _EXPIRES).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "Tags": tagging.on_create(params, KIND),
    }
    if record["Status"]["Code"] == "failed":
        record["_EndedAt"] = call.timestamp()
    elif theirs is not call.cloud:
        theirs.put(KIND, peering_id, {**record, "Tags": []})
    made = call.cloud.put(KIND, peering_id, record)
    begun = {"Code": "initiating-request", "Message": f"Initiating Request to {owner}"}
    return {"VpcPeeringConnection": {**made, "Status": begun}}


def _check_quota(call: Call, vpc_id: str) -> None:
    held = call.cloud.by(KIND, "VpcId", vpc_id)
    code = "ActiveVpcPeeringConnectionPerVpcLimitExceeded"
    limits.check(call, "peering-connections-per-vpc", lambda: held, code, "peering connections of a VPC")


def _side(vpc: dict[str, Any], owner: str, region: str) -> dict[str, Any]:
    place = {"VpcId": vpc["VpcId"], "OwnerId": owner, "Region": region}
    if "CidrBlock" not in vpc:
        return place
    blocks = {
        "CidrBlock": vpc["CidrBlock"],
        "CidrBlockSet": [{"CidrBlock": each} for each in cidrs.ipv4_blocks(vpc)],
        "Ipv6CidrBlockSet": [{"Ipv6CidrBlock": each} for each in cidrs.ipv6_blocks(vpc)],
    }
    return {**place, **blocks, "PeeringOptions": _OPTIONS}


def _first_status(call: Call, vpc: dict[str, Any], peer: dict[str, Any] | None) -> dict[str, str]:
    """Two VPCs with an address in common can't be joined: AWS takes the call, and says so afterwards."""
    same = peer is not None and peer["VpcId"] == vpc["VpcId"]
    if peer is None or same or _overlap(vpc, peer):
        why = "Failed due to incorrect VPC-ID, Account ID, or overlapping CIDR range"
        return {"Code": "failed", "Message": why}
    return {"Code": "pending-acceptance", "Message": f"Pending Acceptance by {peer['OwnerId']}"}


def _overlap(vpc: dict[str, Any], peer: dict[str, Any]) -> bool:
    mine = [cidrs.ipv4(each, "cidrBlock") for each in cidrs.ipv4_blocks(vpc)]
    return any(cidrs.overlapping(each, cidrs.ipv4_blocks(peer)) for each in mine)


def find(call: Call, wanted: str | None) -> Peering:
    """The connection with this id, or AWS's error; one that was over long ago is gone."""
    peering = ids.find(call, KIND, wanted)
    if _is_old(call, peering):
        raise ids.not_found(KIND, peering["VpcPeeringConnectionId"])
    return peering


def _is_old(call: Call, peering: Peering) -> bool:
    ended = peering.get("_EndedAt")
    return ended is not None and call.now - datetime.fromisoformat(ended.replace("Z", "+00:00")) > REMEMBERED


def _keep(call: Call, peering: Peering, **changed: Any) -> None:
    """Writes what changed to both sides."""
    for cloud in _places(call, peering):
        record = cloud.get(KIND, peering["VpcPeeringConnectionId"])
        if record is not None:
            cloud.put(KIND, peering["VpcPeeringConnectionId"], {**record, **changed})


def _places(call: Call, peering: Peering) -> list[Cloud]:
    places = {(peering[side]["OwnerId"], peering[side]["Region"]) for side in _SIDES}
    return [call.cloud.at(*place) for place in sorted(places)]


def _pending(call: Call, params: dict[str, Any], verb: str) -> Peering:
    """The connection that waits for this account and region to accept or reject it."""
    peering = find(call, params.get("VpcPeeringConnectionId"))
    its_id, accepter = peering["VpcPeeringConnectionId"], peering["AccepterVpcInfo"]
    if (accepter["OwnerId"], accepter["Region"]) != (call.account, call.region):
        where = f"User {call.account} cannot {verb} peering {its_id}"
        raise ApiError("OperationNotPermitted", f"{where}: it is up to {accepter['OwnerId']} in {accepter['Region']}")
    if peering["Status"]["Code"] != "pending-acceptance":
        raise _wrong_state(peering, verb)
    return peering


def _wrong_state(peering: Peering, verb: str) -> ApiError:
    return ApiError(
        "InvalidStateTransition",
        f"Cannot {verb} the peering connection {peering['VpcPeeringConnectionId']}: "
        f"it is {peering['Status']['Code']}.",
    )


@action("AcceptVpcPeeringConnection")
def accept_vpc_peering_connection(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    peering = _pending(call, params, "accept")
    _check_quota_of_accepter(call, peering)
    _keep(call, peering, Status={"Code": "active", "Message": "Active"}, ExpirationTime=None)
    shown = find(call, peering["VpcPeeringConnectionId"])
    return {"VpcPeeringConnection": {**shown, "Status": {"Code": "provisioning", "Message": "Provisioning"}}}


def _check_quota_of_accepter(call: Call, peering: Peering) -> None:
    """The request itself is counted already."""
    held = call.cloud.by(KIND, "VpcId", peering["AccepterVpcInfo"]["VpcId"])
    code = "ActiveVpcPeeringConnectionPerVpcLimitExceeded"
    limits.check(call, "peering-connections-per-vpc", lambda: held, code, "peering connections of a VPC", more=0)


@action("RejectVpcPeeringConnection")
def reject_vpc_peering_connection(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    peering = _pending(call, params, "reject")
    status = {"Code": "rejected", "Message": f"Rejected by {call.account}"}
    _keep(call, peering, Status=status, ExpirationTime=None, _EndedAt=call.timestamp())
    return {"Return": True}


@action("DeleteVpcPeeringConnection")
def delete_vpc_peering_connection(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    peering = find(call, params["VpcPeeringConnectionId"])
    _forget_old(call)
    if peering["Status"]["Code"] in OVER:
        raise _wrong_state(peering, "delete")
    status = {"Code": "deleted", "Message": f"Deleted by {call.account}"}
    _keep(call, peering, Status=status, ExpirationTime=None, _EndedAt=call.timestamp())
    return {"Return": True}


def _forget_old(call: Call) -> None:
    for peering in call.cloud.all(KIND):
        if _is_old(call, peering):
            call.cloud.delete(KIND, peering["VpcPeeringConnectionId"])


@action("ModifyVpcPeeringConnectionOptions")
def modify_vpc_peering_connection_options(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    peering = find(call, params["VpcPeeringConnectionId"])
    its_id, answer = peering["VpcPeeringConnectionId"], {}
    if peering["Status"]["Code"] != "active":
        raise ApiError(
            "OperationNotPermitted",
            f"Peering {its_id} is not active. Peering options can be added only to active peerings.",
        )
    for side in _SIDES:
        member = f"{side.removesuffix('VpcInfo')}PeeringConnectionOptions"
        if member not in params:
            continue
        info = find(call, its_id)[side]
        if (info["OwnerId"], info["Region"]) != (call.account, call.region):
            raise ApiError(
                "OperationNotPermitted", f"User {call.account} cannot modify the options of {info['VpcId']} here"
            )
        answer[member] = {**info["PeeringOptions"], **params[member]}
        _keep(call, peering, **{side: {**info, "PeeringOptions": answer[member]}})
    return answer


@action("DescribeVpcPeeringConnections")
def describe_vpc_peering_connections(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    wanted = params.get("VpcPeeringConnectionIds")
    if wanted:
        found = ids.each(wanted, lambda one: find(call, one))
    else:
        found = [each for each in call.cloud.all(KIND) if not _is_old(call, each)]
    chosen = filters.apply(found, params.get("Filters"), FILTERS)
    return paging.page("VpcPeeringConnections", chosen, params, "VpcPeeringConnectionId")
