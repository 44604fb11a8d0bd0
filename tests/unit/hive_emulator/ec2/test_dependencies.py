"""Walks through the table of what holds what: refused while it is held, gone once it is let go."""

from __future__ import annotations

import pytest

from hive_emulator.ec2 import dependencies
from hive_emulator.errors import ApiError
from hive_emulator.testing import Desk


class World:
    """A VPC with a subnet, and one function for each line of the table.

    Each returns how to delete the held resource, the id that must be named as holder, and how to let go.
    """

    def __init__(self) -> None:
        self.desk = Desk()
        self.vpc = self.desk("CreateVpc", CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]

    def subnet(self):
        return self.desk("CreateSubnet", VpcId=self.vpc, CidrBlock="10.0.1.0/24")["Subnet"]["SubnetId"]

    def group(self, name="web"):
        return self.desk("CreateSecurityGroup", VpcId=self.vpc, GroupName=name, Description="d")["GroupId"]

    def gateway(self):
        made = self.desk("CreateInternetGateway")["InternetGateway"]["InternetGatewayId"]
        self.desk("AttachInternetGateway", InternetGatewayId=made, VpcId=self.vpc)
        return made

    def interface(self, subnet=None, **more):
        made = self.desk("CreateNetworkInterface", SubnetId=subnet or self.subnet(), **more)
        return made["NetworkInterface"]["NetworkInterfaceId"]

    def instance(self, **more):
        wanted = [{"Name": "name", "Values": ["*debian-12*"]}, {"Name": "architecture", "Values": ["x86_64"]}]
        image = self.desk("DescribeImages", Filters=wanted)["Images"][0]["ImageId"]
        launch = {"ImageId": image, "InstanceType": "t3.nano", "MinCount": 1, "MaxCount": 1, **more}
        return self.desk("RunInstances", **launch)["Instances"][0]["InstanceId"]

    def terminate(self, instance):
        return "TerminateInstances", {"InstanceIds": [instance]}

    # --- one for each line, in the table's order ---

    def vpc_by_subnet(self):
        subnet = self.subnet()
        return ("DeleteVpc", {"VpcId": self.vpc}), subnet, ("DeleteSubnet", {"SubnetId": subnet})

    def vpc_by_group(self):
        group = self.group()
        return ("DeleteVpc", {"VpcId": self.vpc}), group, ("DeleteSecurityGroup", {"GroupId": group})

    def vpc_by_route_table(self):
        table = self.desk("CreateRouteTable", VpcId=self.vpc)["RouteTable"]["RouteTableId"]
        return ("DeleteVpc", {"VpcId": self.vpc}), table, ("DeleteRouteTable", {"RouteTableId": table})

    def vpc_by_network_acl(self):
        acl = self.desk("CreateNetworkAcl", VpcId=self.vpc)["NetworkAcl"]["NetworkAclId"]
        return ("DeleteVpc", {"VpcId": self.vpc}), acl, ("DeleteNetworkAcl", {"NetworkAclId": acl})

    def vpc_by_gateway(self):
        gateway = self.gateway()
        both = {"InternetGatewayId": gateway, "VpcId": self.vpc}
        return ("DeleteVpc", {"VpcId": self.vpc}), gateway, ("DetachInternetGateway", both)

    def vpc_by_egress_gateway(self):
        made = self.desk("CreateEgressOnlyInternetGateway", VpcId=self.vpc)["EgressOnlyInternetGateway"]
        its_id = {"EgressOnlyInternetGatewayId": made["EgressOnlyInternetGatewayId"]}
        return ("DeleteVpc", {"VpcId": self.vpc}), *its_id.values(), ("DeleteEgressOnlyInternetGateway", its_id)

    def vpc_by_endpoint(self):
        wanted = {"VpcId": self.vpc, "ServiceName": "com.amazonaws.ap-southeast-2.s3"}
        endpoint = self.desk("CreateVpcEndpoint", **wanted)["VpcEndpoint"]["VpcEndpointId"]
        return ("DeleteVpc", {"VpcId": self.vpc}), endpoint, ("DeleteVpcEndpoints", {"VpcEndpointIds": [endpoint]})

    def vpc_by_peering(self):
        other = self.desk("CreateVpc", CidrBlock="10.7.0.0/16")["Vpc"]["VpcId"]
        made = self.desk("CreateVpcPeeringConnection", VpcId=self.vpc, PeerVpcId=other)["VpcPeeringConnection"]
        its_id = {"VpcPeeringConnectionId": made["VpcPeeringConnectionId"]}
        return ("DeleteVpc", {"VpcId": self.vpc}), *its_id.values(), ("DeleteVpcPeeringConnection", its_id)

    def vpc_by_vpn_gateway(self):
        made = self.desk("CreateVpnGateway", Type="ipsec.1")["VpnGateway"]["VpnGatewayId"]
        both = {"VpcId": self.vpc, "VpnGatewayId": made}
        self.desk("AttachVpnGateway", **both)
        return ("DeleteVpc", {"VpcId": self.vpc}), made, ("DetachVpnGateway", both)

    def network_acl_by_subnet(self):
        subnet, acl = self.subnet(), self.desk("CreateNetworkAcl", VpcId=self.vpc)["NetworkAcl"]["NetworkAclId"]
        wanted = [{"Name": "association.subnet-id", "Values": [subnet]}]
        [old] = self.desk("DescribeNetworkAcls", Filters=wanted)["NetworkAcls"]
        [association] = [each["NetworkAclAssociationId"] for each in old["Associations"]]
        both = {"AssociationId": association, "NetworkAclId": acl}
        new = self.desk("ReplaceNetworkAclAssociation", **both)["NewAssociationId"]
        let_go = ("ReplaceNetworkAclAssociation", {"AssociationId": new, "NetworkAclId": old["NetworkAclId"]})
        return ("DeleteNetworkAcl", {"NetworkAclId": acl}), subnet, let_go

    def dhcp_options_by_vpc(self):
        given = [{"Key": "domain-name", "Values": ["lab"]}]
        options = self.desk("CreateDhcpOptions", DhcpConfigurations=given)["DhcpOptions"]["DhcpOptionsId"]
        self.desk("AssociateDhcpOptions", VpcId=self.vpc, DhcpOptionsId=options)
        let_go = ("AssociateDhcpOptions", {"VpcId": self.vpc, "DhcpOptionsId": "default"})
        return ("DeleteDhcpOptions", {"DhcpOptionsId": options}), self.vpc, let_go

    def subnet_by_interface(self):
        subnet = self.subnet()
        interface = self.interface(subnet)
        let_go = ("DeleteNetworkInterface", {"NetworkInterfaceId": interface})
        return ("DeleteSubnet", {"SubnetId": subnet}), interface, let_go

    def group_by_interface(self):
        group = self.group()
        interface = self.interface(Groups=[group])
        let_go = ("DeleteNetworkInterface", {"NetworkInterfaceId": interface})
        return ("DeleteSecurityGroup", {"GroupId": group}), interface, let_go

    def group_by_rule(self):
        group, other = self.group(), self.group("db")
        permission = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}
        answer = self.desk("AuthorizeSecurityGroupIngress", GroupId=other, IpPermissions=[permission])
        rule = answer["SecurityGroupRules"][0]["SecurityGroupRuleId"]
        let_go = ("RevokeSecurityGroupIngress", {"GroupId": other, "SecurityGroupRuleIds": [rule]})
        return ("DeleteSecurityGroup", {"GroupId": group}), rule, let_go

    def gateway_by_vpc(self):
        gateway = self.gateway()
        both = {"InternetGatewayId": gateway, "VpcId": self.vpc}
        delete = ("DeleteInternetGateway", {"InternetGatewayId": gateway})
        return delete, self.vpc, ("DetachInternetGateway", both)

    def attachment_by_public_address(self):
        both = {"InternetGatewayId": self.gateway(), "VpcId": self.vpc}
        address = self.desk("AllocateAddress")
        place = {"AllocationId": address["AllocationId"], "NetworkInterfaceId": self.interface()}
        association = self.desk("AssociateAddress", **place)["AssociationId"]
        let_go = ("DisassociateAddress", {"AssociationId": association})
        return ("DetachInternetGateway", both), address["PublicIp"], let_go

    def route_table_by_association(self):
        table = self.desk("CreateRouteTable", VpcId=self.vpc)["RouteTable"]["RouteTableId"]
        association = self.desk("AssociateRouteTable", RouteTableId=table, SubnetId=self.subnet())["AssociationId"]
        let_go = ("DisassociateRouteTable", {"AssociationId": association})
        return ("DeleteRouteTable", {"RouteTableId": table}), association, let_go

    def interface_by_instance(self):
        subnet = self.subnet()
        interface, instance = self.interface(subnet), self.instance(SubnetId=subnet)
        both = {"NetworkInterfaceId": interface, "InstanceId": instance}
        attachment = self.desk("AttachNetworkInterface", DeviceIndex=1, **both)["AttachmentId"]
        let_go = ("DetachNetworkInterface", {"AttachmentId": attachment})
        return ("DeleteNetworkInterface", {"NetworkInterfaceId": interface}), attachment, let_go

    def address_by_interface(self):
        self.gateway()
        address, interface = self.desk("AllocateAddress")["AllocationId"], self.interface()
        place = {"AllocationId": address, "NetworkInterfaceId": interface}
        association = self.desk("AssociateAddress", **place)["AssociationId"]
        let_go = ("DisassociateAddress", {"AssociationId": association})
        return ("ReleaseAddress", {"AllocationId": address}), interface, let_go

    def volume_by_instance(self):
        instance = self.instance()
        volume = self.desk("CreateVolume", AvailabilityZone="ap-southeast-2a", Size=1)["VolumeId"]
        both = {"VolumeId": volume, "InstanceId": instance}
        self.desk("AttachVolume", Device="/dev/sdf", **both)
        return ("DeleteVolume", {"VolumeId": volume}), instance, ("DetachVolume", both)

    def snapshot_by_image(self):
        volume = self.desk("CreateVolume", AvailabilityZone="ap-southeast-2a", Size=1)["VolumeId"]
        snapshot = self.desk("CreateSnapshot", VolumeId=volume)["SnapshotId"]
        disk = {"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": snapshot}}
        image = self.desk("RegisterImage", Name="own", RootDeviceName="/dev/xvda", BlockDeviceMappings=[disk])[
            "ImageId"
        ]
        return ("DeleteSnapshot", {"SnapshotId": snapshot}), image, ("DeregisterImage", {"ImageId": image})

    def prefix_list(self):
        wanted = {"PrefixListName": "list", "AddressFamily": "IPv4", "MaxEntries": 1}
        return self.desk("CreateManagedPrefixList", **wanted)["PrefixList"]["PrefixListId"]

    def prefix_list_by_rule(self):
        made, group = self.prefix_list(), self.group()
        rule = {"GroupId": group, "IpPermissions": [{"IpProtocol": "-1", "PrefixListIds": [{"PrefixListId": made}]}]}
        self.desk("AuthorizeSecurityGroupIngress", **rule)
        delete = ("DeleteManagedPrefixList", {"PrefixListId": made})
        return delete, group, ("RevokeSecurityGroupIngress", rule)

    def prefix_list_by_route(self):
        made, table = self.prefix_list(), self.desk("CreateRouteTable", VpcId=self.vpc)["RouteTable"]["RouteTableId"]
        route = {"RouteTableId": table, "DestinationPrefixListId": made}
        self.desk("CreateRoute", **route, GatewayId=self.gateway())
        return ("DeleteManagedPrefixList", {"PrefixListId": made}), table, ("DeleteRoute", route)

    def transit_gateway(self):
        return self.desk("CreateTransitGateway")["TransitGateway"]["TransitGatewayId"]

    def attachment(self, gateway):
        both = {"TransitGatewayId": gateway, "VpcId": self.vpc, "SubnetIds": [self.subnet()]}
        made = self.desk("CreateTransitGatewayVpcAttachment", **both)["TransitGatewayVpcAttachment"]
        return {"TransitGatewayAttachmentId": made["TransitGatewayAttachmentId"]}

    def gateway_table(self, gateway):
        made = self.desk("CreateTransitGatewayRouteTable", TransitGatewayId=gateway)["TransitGatewayRouteTable"]
        return {"TransitGatewayRouteTableId": made["TransitGatewayRouteTableId"]}

    def transit_gateway_by_attachment(self):
        gateway = self.transit_gateway()
        its_id = self.attachment(gateway)
        delete = ("DeleteTransitGateway", {"TransitGatewayId": gateway})
        return delete, *its_id.values(), ("DeleteTransitGatewayVpcAttachment", its_id)

    def transit_gateway_by_route_table(self):
        gateway = self.transit_gateway()
        table = self.gateway_table(gateway)
        delete = ("DeleteTransitGateway", {"TransitGatewayId": gateway})
        return delete, *table.values(), ("DeleteTransitGatewayRouteTable", table)

    def transit_gateway_table_by_attachment(self):
        wanted = {"DefaultRouteTableAssociation": "disable"}
        gateway = self.desk("CreateTransitGateway", Options=wanted)["TransitGateway"]["TransitGatewayId"]
        its_id, table = self.attachment(gateway), self.gateway_table(gateway)
        self.desk("AssociateTransitGatewayRouteTable", **its_id, **table)
        let_go = ("DisassociateTransitGatewayRouteTable", {**its_id, **table})
        return ("DeleteTransitGatewayRouteTable", table), *its_id.values(), let_go

    def placement_group_by_instance(self):
        self.desk("CreatePlacementGroup", GroupName="near", Strategy="cluster")
        instance = self.instance(InstanceType="m5.large", Placement={"GroupName": "near"})
        return ("DeletePlacementGroup", {"GroupName": "near"}), instance, self.terminate(instance)


def refusal(world: World, delete: str, params: dict) -> tuple[str, str]:
    """Code and message of the error; of a prefix list the state that it is in afterwards."""
    if delete == "DeleteManagedPrefixList":
        world.desk(delete, **params)
        [left] = world.desk("DescribeManagedPrefixLists", PrefixListIds=[params["PrefixListId"]])["PrefixLists"]
        return left["State"], left["StateMessage"]
    with pytest.raises(ApiError) as caught:
        world.desk(delete, **params)
    return caught.value.code, caught.value.message


LINES = [name for name in vars(World) if "_by_" in name]


def test_every_line_of_the_table_is_walked_through():
    assert len(LINES) == len(dependencies.TABLE)


@pytest.mark.parametrize(("line", "name"), list(zip(dependencies.TABLE, LINES, strict=True)), ids=LINES)
def test_what_is_held_stays_until_it_is_let_go(line, name):
    world = World()
    (delete, params), holder, (let_go, its_params) = getattr(world, name)()
    code, message = refusal(world, delete, params)
    assert code == line.code
    assert f"Held by {holder}: {line.by}." in message
    world.desk(let_go, **its_params)
    world.desk(delete, **params)


def test_a_security_group_that_names_itself_is_not_held_by_that():
    world = World()
    group = world.group()
    permission = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}
    world.desk("AuthorizeSecurityGroupIngress", GroupId=group, IpPermissions=[permission])
    world.desk("DeleteSecurityGroup", GroupId=group)


def test_many_holders_are_counted_not_listed():
    world = World()
    for number in range(8):
        world.desk("CreateSubnet", VpcId=world.vpc, CidrBlock=f"10.0.{number}.0/24")
    with pytest.raises(ApiError, match=r"(subnet-\w+, ){4}subnet-\w+ and 3 more: a subnet in it"):
        world.desk("DeleteVpc", VpcId=world.vpc)
