"""The trees on a running Hive: plain Terraform makes staging, finds nothing more to do, and takes all of it away.

The provider waits ten seconds and more at every instance, volume and attachment, so staging is made once.
"""

from __future__ import annotations

import base64
import json

import pytest
import yaml

from hive_emulator.testing import running_emulator

pytestmark = pytest.mark.xdist_group("staging")  # made once, not once for each worker


@pytest.fixture(scope="module")
def hive():
    with running_emulator() as running:
        yield running


@pytest.fixture(scope="module")
def staging(terraform_in, hive):
    """Staging, applied; and destroyed after the last test, which must leave nothing."""
    before = resources(hive.client("ec2"))
    terraform = terraform_in("environments/staging", **credentials(hive))
    with_minions(terraform, "token of")
    terraform.init()
    terraform.apply()
    yield terraform
    terraform.destroy()
    assert resources(hive.client("ec2")) == before


@pytest.fixture(scope="module")
def outputs(staging):
    return staging.outputs()["components"]


HOSTS = {
    "consul": ["staging-consul-1"],
    "vault": ["staging-vault-1"],
    "boundary": ["staging-boundary-controller-1", "staging-boundary-worker-1"],
    "hera": ["staging-hera-1"],
    "hecate": ["staging-hecate-1"],
}


def with_minions(terraform, token, **more):
    """Every host is a Salt minion, as Saltform asks for it; hera does something else besides."""
    calls = {
        name: {"minions": hosts, "minion_tokens": {host: f"{token} {host}" for host in hosts}}
        for name, hosts in (HOSTS | more).items()
    }
    calls["hera"] |= {"user_data": "#!/bin/sh\ntrue\n", "salt_master": "salt.example.com"}
    (terraform.folder / "minions_override.tf.json").write_text(json.dumps({"module": calls}))


def credentials(hive):
    keys = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    return {**{name: hive.env()[name] for name in keys}, "TF_VAR_endpoint": hive.endpoint}


def resources(ec2):
    """Ids of all that the modules make, the gone instances left out."""
    instances = ec2.describe_instances()["Reservations"]
    alive = [i for r in instances for i in r["Instances"] if i["State"]["Name"] != "terminated"]
    return {
        "vpcs": {each["VpcId"] for each in ec2.describe_vpcs()["Vpcs"]},
        "subnets": {each["SubnetId"] for each in ec2.describe_subnets()["Subnets"]},
        "groups": {each["GroupId"] for each in ec2.describe_security_groups()["SecurityGroups"]},
        "gateways": {each["InternetGatewayId"] for each in ec2.describe_internet_gateways()["InternetGateways"]},
        "tables": {each["RouteTableId"] for each in ec2.describe_route_tables()["RouteTables"]},
        "instances": {each["InstanceId"] for each in alive},
        "volumes": {each["VolumeId"] for each in ec2.describe_volumes()["Volumes"]},
        "snapshots": {each["SnapshotId"] for each in ec2.describe_snapshots(OwnerIds=["self"])["Snapshots"]},
        "addresses": {each["AllocationId"] for each in ec2.describe_addresses()["Addresses"]},
        "placements": {each["GroupName"] for each in ec2.describe_placement_groups()["PlacementGroups"]},
        "nat": {
            each["NatGatewayId"] for each in ec2.describe_nat_gateways()["NatGateways"] if each["State"] != "deleted"
        },
    }


def test_a_second_plan_finds_nothing_to_do_though_its_tokens_are_new(staging):
    with_minions(staging, "another token of")
    assert staging.plan() == {}


def test_every_host_becomes_the_minion_of_its_name_with_its_token(outputs, hive):
    ec2 = hive.client("ec2")
    for component, hosts in HOSTS.items():
        made = outputs[component]["minions"]
        assert sorted(made) == hosts
        for name, instance in made.items():
            data = ec2.describe_instance_attribute(InstanceId=instance, Attribute="userData")["UserData"]["Value"]
            first, *rest = yaml.safe_load(base64.b64decode(data))
            minion = yaml.safe_load(first)["salt_minion"]
            assert minion["grains"] == {"saltform_token": f"token of {name}"}
            assert minion["conf"]["id"] == name
            assert minion["conf"]["autosign_grains"] == ["saltform_token"]
            assert minion["conf"]["master"] == ("salt.example.com" if component == "hera" else "salt")
            assert rest == (["#!/bin/sh\ntrue\n"] if component == "hera" else [])


def test_a_minion_that_is_no_host_is_refused(staging):
    with_minions(staging, "token of", consul=["staging-consul-7"])
    try:
        with pytest.raises(AssertionError, match="minions must be among the hosts: staging-consul-1"):
            staging.plan()
    finally:
        with_minions(staging, "token of")


def test_outputs_are_what_the_cloud_has(outputs, hive):
    ec2 = hive.client("ec2")
    [server] = outputs["vault"]["instance_ids"].values()
    [instance] = ec2.describe_instances(InstanceIds=[server])["Reservations"][0]["Instances"]
    assert outputs["vault"]["hosts"] == {"staging-vault-1": instance["PrivateIpAddress"]}
    assert instance["VpcId"] == outputs["networking"]["vpc_id"]
    assert instance["MetadataOptions"]["HttpTokens"] == "required"
    [volume] = ec2.describe_volumes(VolumeIds=[outputs["vault"]["volume_ids"]["staging-vault-1"]])["Volumes"]
    assert volume["Attachments"][0]["InstanceId"] == server
    assert volume["Encrypted"]


def test_everything_carries_its_environment_and_name(outputs, hive):
    [server] = outputs["consul"]["instance_ids"].values()
    tags = hive.client("ec2").describe_tags(Filters=[{"Name": "resource-id", "Values": [server]}])["Tags"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == {"Name": "staging-consul-1", "environment": "staging"}


def test_hecate_knows_its_upstreams_and_is_reached_on_443_alone(outputs, hive):
    hecate = outputs["hecate"]
    addresses = {each["name"]: each["addresses"] for each in hecate["upstreams"]}
    assert addresses == {"hera": outputs["hera"]["addresses"], "boundary": outputs["boundary"]["addresses"]}
    ec2 = hive.client("ec2")
    [group] = ec2.describe_security_groups(GroupIds=[hecate["security_group_id"]])["SecurityGroups"]
    assert [(rule["FromPort"], rule["ToPort"]) for rule in group["IpPermissions"]] == [(443, 443)]
    [address] = ec2.describe_addresses(PublicIps=list(hecate["public_addresses"].values()))["Addresses"]
    assert address["InstanceId"] == hecate["instance_ids"]["staging-hecate-1"]


def test_backups_hold_a_snapshot_of_every_vault_volume_in_another_zone(outputs, hive):
    backups = outputs["backups"]
    [snapshot] = hive.client("ec2").describe_snapshots(SnapshotIds=list(backups["snapshot_ids"].values()))[
        "Snapshots"
    ]
    assert snapshot["VolumeId"] == outputs["vault"]["volume_ids"]["staging-vault-1"]
    assert backups["zone"] == outputs["networking"]["zones"][-1] != outputs["networking"]["zones"][0]


def test_a_change_in_the_network_replaces_neither_volumes_nor_servers(staging):
    main = staging.folder.parents[1] / "modules" / "networking" / "main.tf"
    before = main.read_text()
    main.write_text(
        before.replace('"${var.name}-public-${count.index + 1}"', '"${var.name}-open-${count.index + 1}"')
    )
    try:
        assert set(staging.plan().values()) == {"update"}
    finally:
        main.write_text(before)


def test_a_replaced_vault_server_finds_its_volume_again(staging):
    planned = staging.plan("-replace=module.vault.aws_instance.server[0]")
    assert planned["module.vault.aws_instance.server[0]"] == "replace"
    assert planned["module.vault.aws_volume_attachment.data[0]"] == "replace"
    assert "module.vault.aws_ebs_volume.data[0]" not in planned


NAT = """
provider "aws" {
  region                  = "us-east-1" # out of the way of staging: the emulator ends with the tests, not the network
  skip_metadata_api_check = true
  endpoints {
    ec2 = var.endpoint
    sts = var.endpoint
  }
}
variable "endpoint" {}
module "networking" {
  source           = "../modules/networking"
  name             = "closed"
  cidr             = "10.40.0.0/20"
  zone_count       = 3
  nat              = true
  public_addresses = false
}
output "networking" {
  value = module.networking
}
"""


def test_with_nat_clusters_live_in_private_subnets_of_every_zone(terraform_in, hive):
    ec2 = hive.client("ec2", region="us-east-1")
    terraform = terraform_in("closed", **credentials(hive))
    (terraform.folder / "main.tf").write_text(NAT)
    terraform.init()
    terraform.apply()
    assert terraform.plan() == {}
    made = terraform.outputs()["networking"]
    private = ec2.describe_subnets(SubnetIds=made["subnet_ids"])["Subnets"]
    assert [each["AvailabilityZone"] for each in private] == made["zones"]
    assert {each["CidrBlock"] for each in private} == {"10.40.8.0/24", "10.40.9.0/24", "10.40.10.0/24"}
    assert not set(made["subnet_ids"]) & set(made["public_subnet_ids"])
    [gateway] = ec2.describe_nat_gateways(Filters=[{"Name": "vpc-id", "Values": [made["vpc_id"]]}])["NatGateways"]
    assert gateway["NatGatewayAddresses"][0]["PublicIp"] == made["nat_address"]
