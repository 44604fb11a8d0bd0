"""python -m demo.tamper ENVIRONMENT: rename the environment's VPC by hand, behind Terraform's back."""

from __future__ import annotations

import sys

import boto3


def main(environment: str) -> None:
    ec2 = boto3.client("ec2")  # endpoint, region, CA and keys are in the environment, as `.demo/env` sets them
    ours = [{"Name": "tag:saltform:environment", "Values": [environment]}]
    (vpc,) = ec2.describe_vpcs(Filters=ours)["Vpcs"]
    ec2.create_tags(Resources=[vpc["VpcId"]], Tags=[{"Key": "Name", "Value": "renamed by hand"}])
    print(f"{vpc['VpcId']} is now called 'renamed by hand'")


if __name__ == "__main__":
    main(sys.argv[1])
