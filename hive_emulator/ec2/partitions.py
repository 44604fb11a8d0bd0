"""AWS's partitions: China and GovCloud have names of their own in ARNs."""

from __future__ import annotations

from hive_emulator.action import Call


def of(region: str) -> str:
    """``aws``, ``aws-cn`` or ``aws-us-gov``."""
    return "aws-cn" if region.startswith("cn-") else "aws-us-gov" if region.startswith("us-gov-") else "aws"


def arn(call: Call, resource: str, *, service: str = "ec2", region: str | None = None) -> str:
    """The ARN of something that the account has here."""
    where = call.region if region is None else region
    return f"arn:{of(call.region)}:{service}:{where}:{call.account}:{resource}"
