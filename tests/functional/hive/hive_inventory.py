"""Everything that is in an account and region, asked for through the API."""

from __future__ import annotations

from typing import Any

# Describe call, list in the answer, id; what is gone for good but still shown is left out below.
CALLS = (
    ("describe_vpcs", "Vpcs", "VpcId"),
    ("describe_subnets", "Subnets", "SubnetId"),
    ("describe_security_groups", "SecurityGroups", "GroupId"),
    ("describe_security_group_rules", "SecurityGroupRules", "SecurityGroupRuleId"),
    ("describe_internet_gateways", "InternetGateways", "InternetGatewayId"),
    ("describe_egress_only_internet_gateways", "EgressOnlyInternetGateways", "EgressOnlyInternetGatewayId"),
    ("describe_route_tables", "RouteTables", "RouteTableId"),
    ("describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId"),
    ("describe_network_acls", "NetworkAcls", "NetworkAclId"),
    ("describe_dhcp_options", "DhcpOptions", "DhcpOptionsId"),
    ("describe_addresses", "Addresses", "AllocationId"),
    ("describe_nat_gateways", "NatGateways", "NatGatewayId"),
    ("describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId"),
    ("describe_vpc_endpoint_service_configurations", "ServiceConfigurations", "ServiceId"),
    ("describe_vpc_endpoint_connection_notifications", "ConnectionNotificationSet", "ConnectionNotificationId"),
    ("describe_managed_prefix_lists", "PrefixLists", "PrefixListId"),
    ("describe_vpn_gateways", "VpnGateways", "VpnGatewayId"),
    ("describe_customer_gateways", "CustomerGateways", "CustomerGatewayId"),
    ("describe_flow_logs", "FlowLogs", "FlowLogId"),
    ("describe_transit_gateways", "TransitGateways", "TransitGatewayId"),
    ("describe_transit_gateway_attachments", "TransitGatewayAttachments", "TransitGatewayAttachmentId"),
    ("describe_transit_gateway_route_tables", "TransitGatewayRouteTables", "TransitGatewayRouteTableId"),
    ("describe_volumes", "Volumes", "VolumeId"),
    ("describe_key_pairs", "KeyPairs", "KeyPairId"),
    ("describe_placement_groups", "PlacementGroups", "GroupId"),
)


def inventory(ec2: Any) -> set[str]:
    """Ids of all that is there: instances not terminated, NAT gateways not deleted, own snapshots and images."""
    found = set()
    for method, member, key in CALLS:
        answer = getattr(ec2, method)()
        found |= {each[key] for each in answer[member] if each.get("State") != "deleted"}
    found |= {each["SnapshotId"] for each in ec2.describe_snapshots(OwnerIds=["self"])["Snapshots"]}
    found |= {each["ImageId"] for each in ec2.describe_images(Owners=["self"])["Images"]}
    reservations = ec2.describe_instances()["Reservations"]
    instances = [instance for each in reservations for instance in each["Instances"]]
    found |= {each["InstanceId"] for each in instances if each["State"]["Name"] != "terminated"}
    peerings = ec2.describe_vpc_peering_connections()["VpcPeeringConnections"]
    found |= {each["VpcPeeringConnectionId"] for each in peerings if each["Status"]["Code"] != "deleted"}
    tagged = {row["ResourceId"] for row in ec2.describe_tags()["Tags"]}
    gone = {each["InstanceId"] for each in instances} | {
        each["NatGatewayId"] for each in ec2.describe_nat_gateways()["NatGateways"]
    }
    gone |= {each["VpcPeeringConnectionId"] for each in peerings}
    return found | (tagged - gone)
