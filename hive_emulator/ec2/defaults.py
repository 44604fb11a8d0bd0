"""What a region starts with: DHCP options, and a default VPC with a public subnet in each zone and its gateway."""

from __future__ import annotations

from hive_emulator.action import Call
from hive_emulator.ec2 import dhcp, internet_gateways, routes, subnets, vpcs

VPC_BLOCK = "172.31.0.0/16"
SUBNET_BLOCKS = ("172.31.0.0/20", "172.31.16.0/20", "172.31.32.0/20")


def seed(call: Call) -> None:
    """Stages the records of a fresh account and region."""
    dhcp.create_default(call)
    vpc = vpcs.create(call, VPC_BLOCK, tags=[], default=True)
    for zone, block in zip(call.config.zones(call.region), SUBNET_BLOCKS, strict=True):
        subnets.create(call, vpc, block, zone=zone, tags=[], default=True)
    gateway = internet_gateways.create(call, tags=[])
    internet_gateways.attach(call, gateway, vpc)
    [table] = call.cloud.by("route-table", "VpcId", vpc["VpcId"])
    to_everywhere = {"DestinationCidrBlock": "0.0.0.0/0", "GatewayId": gateway["InternetGatewayId"]}
    routes.add(call, table, to_everywhere)
