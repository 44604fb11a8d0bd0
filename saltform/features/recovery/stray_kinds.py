"""What EC2 calls its resources, what Terraform calls them, and how each is removed. In the order of removal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Remove = Callable[[Any, str], object]  # a client and the id


@dataclass(frozen=True)
class StrayKind:
    """One type of resource. `name` finds what Terraform imports it by, where that isn't its id."""

    terraform: str
    remove: Remove
    name: Callable[[Any, str], str] = lambda _ec2, id_: id_


def _terminate(ec2: Any, id_: str) -> None:
    ec2.terminate_instances(InstanceIds=[id_])
    ec2.get_waiter("instance_terminated").wait(InstanceIds=[id_], WaiterConfig={"Delay": 2, "MaxAttempts": 150})


def _remove_gateway(ec2: Any, id_: str) -> None:
    (gateway,) = ec2.describe_internet_gateways(InternetGatewayIds=[id_])["InternetGateways"]
    for attached in gateway["Attachments"]:
        ec2.detach_internet_gateway(InternetGatewayId=id_, VpcId=attached["VpcId"])
    ec2.delete_internet_gateway(InternetGatewayId=id_)


def _remove_route_table(ec2: Any, id_: str) -> None:
    (table,) = ec2.describe_route_tables(RouteTableIds=[id_])["RouteTables"]
    for association in table["Associations"]:
        ec2.disassociate_route_table(AssociationId=association["RouteTableAssociationId"])
    ec2.delete_route_table(RouteTableId=id_)


def _key_name(ec2: Any, id_: str) -> str:
    return str(ec2.describe_key_pairs(KeyPairIds=[id_])["KeyPairs"][0]["KeyName"])


def _group_name(ec2: Any, id_: str) -> str:
    return str(ec2.describe_placement_groups(GroupIds=[id_])["PlacementGroups"][0]["GroupName"])


KINDS: Mapping[str, StrayKind] = {
    "instance": StrayKind("aws_instance", _terminate),
    "natgateway": StrayKind("aws_nat_gateway", lambda ec2, id_: ec2.delete_nat_gateway(NatGatewayId=id_)),
    "elastic-ip": StrayKind("aws_eip", lambda ec2, id_: ec2.release_address(AllocationId=id_)),
    "volume": StrayKind("aws_ebs_volume", lambda ec2, id_: ec2.delete_volume(VolumeId=id_)),
    "snapshot": StrayKind("aws_ebs_snapshot", lambda ec2, id_: ec2.delete_snapshot(SnapshotId=id_)),
    "image": StrayKind("aws_ami", lambda ec2, id_: ec2.deregister_image(ImageId=id_)),
    "key-pair": StrayKind("aws_key_pair", lambda ec2, id_: ec2.delete_key_pair(KeyPairId=id_), _key_name),
    "placement-group": StrayKind(
        "aws_placement_group",
        lambda ec2, id_: ec2.delete_placement_group(GroupName=_group_name(ec2, id_)),
        _group_name,
    ),
    "network-interface": StrayKind(
        "aws_network_interface", lambda ec2, id_: ec2.delete_network_interface(NetworkInterfaceId=id_)
    ),
    "security-group": StrayKind("aws_security_group", lambda ec2, id_: ec2.delete_security_group(GroupId=id_)),
    "route-table": StrayKind("aws_route_table", _remove_route_table),
    "egress-only-internet-gateway": StrayKind(
        "aws_egress_only_internet_gateway",
        lambda ec2, id_: ec2.delete_egress_only_internet_gateway(EgressOnlyInternetGatewayId=id_),
    ),
    "internet-gateway": StrayKind("aws_internet_gateway", _remove_gateway),
    "subnet": StrayKind("aws_subnet", lambda ec2, id_: ec2.delete_subnet(SubnetId=id_)),
    "vpc": StrayKind("aws_vpc", lambda ec2, id_: ec2.delete_vpc(VpcId=id_)),
}
ORDER = list(KINDS)
