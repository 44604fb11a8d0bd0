"""python -m demo.left: what Saltform made and is still in the cloud, by its tags. Exit code 1 if there is any."""

from __future__ import annotations

import sys
from typing import Any

import boto3

ENDED = ("shutting-down", "terminated", "deleting", "deleted")  # what is shown for a while after its end


def left(ec2: Any) -> list[str]:
    """`vpc vpc-0a1b2c3d` for each."""
    groups = [group for page in ec2.get_paginator("describe_instances").paginate() for group in page["Reservations"]]
    ended = {item["InstanceId"] for group in groups for item in group["Instances"] if item["State"]["Name"] in ENDED}
    gateways = [
        each for page in ec2.get_paginator("describe_nat_gateways").paginate() for each in page["NatGateways"]
    ]
    ended |= {item["NatGatewayId"] for item in gateways if item["State"] in ENDED}
    ours = [{"Name": "key", "Values": ["saltform:environment"]}]
    pages = ec2.get_paginator("describe_tags").paginate(Filters=ours)
    found = ((tag["ResourceType"], tag["ResourceId"]) for page in pages for tag in page["Tags"])
    return sorted(f"{kind} {name}" for kind, name in found if name not in ended)


def main() -> int:
    found = left(boto3.client("ec2"))  # told by the environment where and as whom, as in demo.tamper
    print("\n".join(found) or "nothing that Saltform made is there any more")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
