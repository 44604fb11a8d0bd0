"""What a provider has to offer before we ask it to build: instance types, and room in the account's quota."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from saltform.config import Component
from saltform.config.kinds import KINDS
from saltform.credentials.aws import Refused, client
from saltform.credentials.lender import Lender

Finding = tuple[str, bool, str, str]  # check, ok, detail, fix
_RUNNING = [{"Name": "instance-state-name", "Values": ["pending", "running", "stopping"]}]


def check_offers(lender: Lender, component: Component, instance_types: Sequence[str]) -> Iterator[Finding]:
    """Ask an AWS-compatible provider about instance types and quota. Others can't tell, and nothing is said."""
    provider = component.provider
    if provider is None or KINDS[provider.kind].check != "aws" or not instance_types:
        return
    with lender.lend(component) as loan:
        try:
            with client("ec2", provider, loan.environment) as ec2:
                yield from (_offered(ec2, name) for name in instance_types)
                yield _quota(ec2)
        except Refused as error:
            yield "instance types", False, loan.masker.line(str(error)), "see what the provider says"


def _offered(ec2: Any, name: str) -> Finding:
    answer = ec2.describe_instance_type_offerings(Filters=[{"Name": "instance-type", "Values": [name]}])
    if answer["InstanceTypeOfferings"]:
        return "instance type", True, f"{name} is offered", ""
    return "instance type", False, f"{name} is not offered in this region", "choose another instance_type"


def _quota(ec2: Any) -> Finding:
    # Not asked for by name: botocore's model knows only two of the names that EC2 answers with.
    attributes = ec2.describe_account_attributes()["AccountAttributes"]
    mine = (item["AttributeValues"] for item in attributes if item["AttributeName"] == "max-instances")
    told = "".join(each["AttributeValue"] for values in mine for each in values)
    if not told.isdecimal():
        return "instance quota", True, "the provider doesn't tell how many instances it allows", ""
    most = int(told)
    pages = ec2.get_paginator("describe_instances").paginate(Filters=_RUNNING)
    used = sum(len(group["Instances"]) for page in pages for group in page["Reservations"])
    fix = "" if used < most else "ask for a higher quota, or stop instances that nobody needs"
    return "instance quota", used < most, f"{used} of {most} instances in use", fix
