"""Make ``model.json`` from the installed botocore: ``python -m hive_emulator.protocol.trim``.

Loading botocore's whole ec2 model takes most of a second, so the emulator ships the part it needs: the
actions named here and the shapes they reach, without documentation. Where the model says less or other than
the service does, ``overlay.json`` (merged at load time) says so. An action is added by naming it here and
running this module.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ACTIONS = {
    "ec2": """
        RunInstances DescribeInstances StartInstances StopInstances RebootInstances TerminateInstances
        DescribeInstanceTypes DescribeInstanceTypeOfferings DescribeInstanceAttribute ModifyInstanceAttribute
        DescribeInstanceStatus DescribeInstanceCreditSpecifications ModifyInstanceCreditSpecification
        ModifyInstanceMetadataOptions ModifyInstancePlacement MonitorInstances UnmonitorInstances
        ModifyInstanceMaintenanceOptions ModifyPrivateDnsNameOptions GetConsoleOutput GetInstanceUefiData
        AssociateIamInstanceProfile DescribeIamInstanceProfileAssociations DisassociateIamInstanceProfile
        ReplaceIamInstanceProfileAssociation
        CreateVolume DescribeVolumes DescribeVolumeStatus DescribeVolumeAttribute ModifyVolume
        DescribeVolumesModifications DeleteVolume AttachVolume DetachVolume
        CreateKeyPair ImportKeyPair DescribeKeyPairs DeleteKeyPair
        DescribeImages CreateImage RegisterImage DeregisterImage DescribeImageAttribute ModifyImageAttribute
        ResetImageAttribute EnableEbsEncryptionByDefault DisableEbsEncryptionByDefault GetEbsEncryptionByDefault
        GetEbsDefaultKmsKeyId ModifyEbsDefaultKmsKeyId ResetEbsDefaultKmsKeyId
        CreateSnapshot DescribeSnapshots DeleteSnapshot CopySnapshot DescribeSnapshotAttribute
        CreateTags DeleteTags DescribeTags
        DescribeRegions DescribeAvailabilityZones DescribeAccountAttributes
        CreateEgressOnlyInternetGateway DescribeEgressOnlyInternetGateways DeleteEgressOnlyInternetGateway
        CreateVpc DescribeVpcs DeleteVpc ModifyVpcAttribute DescribeVpcAttribute ModifyVpcTenancy
        AssociateVpcCidrBlock DisassociateVpcCidrBlock
        CreateSubnet DescribeSubnets DeleteSubnet ModifySubnetAttribute
        AssociateSubnetCidrBlock DisassociateSubnetCidrBlock
        CreateSecurityGroup DescribeSecurityGroups DeleteSecurityGroup
        AuthorizeSecurityGroupIngress AuthorizeSecurityGroupEgress
        RevokeSecurityGroupIngress RevokeSecurityGroupEgress
        DescribeSecurityGroupRules ModifySecurityGroupRules
        UpdateSecurityGroupRuleDescriptionsIngress UpdateSecurityGroupRuleDescriptionsEgress
        CreateInternetGateway DescribeInternetGateways DeleteInternetGateway
        AttachInternetGateway DetachInternetGateway
        CreateRouteTable DescribeRouteTables DeleteRouteTable CreateRoute ReplaceRoute DeleteRoute
        AssociateRouteTable DisassociateRouteTable ReplaceRouteTableAssociation
        CreateNetworkInterface DescribeNetworkInterfaces DeleteNetworkInterface
        AttachNetworkInterface DetachNetworkInterface ModifyNetworkInterfaceAttribute
        AssignPrivateIpAddresses UnassignPrivateIpAddresses
        AssignIpv6Addresses UnassignIpv6Addresses
        CreateNetworkAcl DescribeNetworkAcls DeleteNetworkAcl ReplaceNetworkAclAssociation
        CreateNetworkAclEntry ReplaceNetworkAclEntry DeleteNetworkAclEntry
        DescribeVpcClassicLink DescribeVpcClassicLinkDnsSupport
        CreateVpcEndpoint DescribeVpcEndpoints ModifyVpcEndpoint DeleteVpcEndpoints
        CreateVpcEndpointServiceConfiguration DescribeVpcEndpointServiceConfigurations
        ModifyVpcEndpointServiceConfiguration DeleteVpcEndpointServiceConfigurations
        DescribeVpcEndpointServicePermissions ModifyVpcEndpointServicePermissions DescribeVpcEndpointServices
        DescribeVpcEndpointConnections AcceptVpcEndpointConnections RejectVpcEndpointConnections
        CreateVpcEndpointConnectionNotification DescribeVpcEndpointConnectionNotifications
        ModifyVpcEndpointConnectionNotification DeleteVpcEndpointConnectionNotifications
        DescribePrefixLists CreateManagedPrefixList DescribeManagedPrefixLists ModifyManagedPrefixList
        DeleteManagedPrefixList GetManagedPrefixListEntries GetManagedPrefixListAssociations
        RestoreManagedPrefixListVersion
        CreateVpcPeeringConnection AcceptVpcPeeringConnection RejectVpcPeeringConnection DeleteVpcPeeringConnection
        DescribeVpcPeeringConnections ModifyVpcPeeringConnectionOptions
        CreateVpnGateway DescribeVpnGateways DeleteVpnGateway AttachVpnGateway DetachVpnGateway
        EnableVgwRoutePropagation DisableVgwRoutePropagation
        CreateCustomerGateway DescribeCustomerGateways DeleteCustomerGateway
        CreateFlowLogs DescribeFlowLogs DeleteFlowLogs
        CreateTransitGateway DescribeTransitGateways ModifyTransitGateway DeleteTransitGateway
        CreateTransitGatewayVpcAttachment DescribeTransitGatewayVpcAttachments ModifyTransitGatewayVpcAttachment
        DeleteTransitGatewayVpcAttachment DescribeTransitGatewayAttachments
        CreateTransitGatewayRouteTable DescribeTransitGatewayRouteTables DeleteTransitGatewayRouteTable
        AssociateTransitGatewayRouteTable DisassociateTransitGatewayRouteTable
        GetTransitGatewayRouteTableAssociations EnableTransitGatewayRouteTablePropagation
        DisableTransitGatewayRouteTablePropagation GetTransitGatewayRouteTablePropagations
        GetTransitGatewayAttachmentPropagations CreateTransitGatewayRoute ReplaceTransitGatewayRoute
        DeleteTransitGatewayRoute SearchTransitGatewayRoutes
        CreateDhcpOptions DescribeDhcpOptions DeleteDhcpOptions AssociateDhcpOptions
        CreatePlacementGroup DescribePlacementGroups DeletePlacementGroup
        AllocateAddress DescribeAddresses ReleaseAddress AssociateAddress DisassociateAddress
        DescribeAddressesAttribute
        CreateNatGateway DescribeNatGateways DeleteNatGateway
    """,
    "ssm": "GetParameter GetParameters",
    "sts": "GetCallerIdentity",
    "iam": "GetUser ListRoles ListAccountAliases",
}

MODEL = Path(__file__).with_name("model.json")
_METADATA = ("apiVersion", "protocol", "xmlNamespace", "serviceFullName", "targetPrefix", "jsonVersion")
_OPERATION = ("input", "output")
_SHAPE = ("type", "members", "member", "key", "value", "required", "enum", "locationName", "flattened")
_MEMBER = ("shape", "locationName", "queryName", "flattened", "timestampFormat")
_LONGEST_ENUM = 200  # instance types and the like: a list that long is the action's business, not the parser's


def trimmed() -> dict[str, Any]:
    """The model of every service, as it is written to ``model.json``."""
    from botocore.loaders import Loader

    loader = Loader()
    return {
        service: _trim(loader.load_service_model(service, "service-2"), names.split())
        for service, names in ACTIONS.items()
    }


def _trim(model: dict[str, Any], names: list[str]) -> dict[str, Any]:
    operations = {name: _operation(model["operations"][name]) for name in sorted(names)}
    shapes: dict[str, Any] = {}
    todo = [part["shape"] for operation in operations.values() for part in operation.values()]
    while todo:
        name = todo.pop()
        if name not in shapes:
            shapes[name] = shape = _shape(model["shapes"][name])
            todo += [ref["shape"] for ref in shape.get("members", {}).values()]
            todo += [shape[part]["shape"] for part in ("member", "key", "value") if part in shape]
    metadata = {key: model["metadata"][key] for key in _METADATA if key in model["metadata"]}
    return {"metadata": metadata, "operations": operations, "shapes": dict(sorted(shapes.items()))}


def _operation(operation: dict[str, Any]) -> dict[str, Any]:
    kept = {key: operation[key] for key in _OPERATION if key in operation}
    return {key: {k: part[k] for k in ("shape", "resultWrapper") if k in part} for key, part in kept.items()}


def _shape(shape: dict[str, Any]) -> dict[str, Any]:
    kept = {key: shape[key] for key in _SHAPE if key in shape}
    if "members" in kept:
        kept["members"] = {name: _member(member) for name, member in kept["members"].items()}
    for part in ("member", "key", "value"):
        if part in kept:
            kept[part] = _member(kept[part])
    if len(kept.get("enum", ())) > _LONGEST_ENUM:
        del kept["enum"]
    return kept


def _member(member: dict[str, Any]) -> dict[str, Any]:
    return {key: member[key] for key in _MEMBER if key in member}


def text(model: dict[str, Any]) -> str:
    """``model.json``'s text: one operation or shape a line, so that a new botocore gives a readable diff."""
    from botocore import __version__

    lines = ["{", f'"botocore": "{__version__}",']
    for service, parts in model.items():
        lines += [f'"{service}": {{', f'"metadata": {json.dumps(parts["metadata"])},']
        for part in ("operations", "shapes"):
            rows = [f"{json.dumps(name)}: {_dense(value)}" for name, value in parts[part].items()]
            lines += [f'"{part}": {{', ",\n".join(rows), "}," if part == "operations" else "}"]
        lines.append("},")
    lines[-1] = "}"
    return "\n".join([*lines, "}", ""])


def _dense(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


if __name__ == "__main__":
    MODEL.write_text(text(trimmed()), encoding="utf-8")
    print(f"{MODEL.name}: {MODEL.stat().st_size // 1024} KiB")
