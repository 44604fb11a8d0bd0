"""STS: who am I."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import partitions


@action("GetCallerIdentity", service="sts")
def get_caller_identity(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """The account of the key that signed the request; an account's key acts as its root user."""
    return {
        "UserId": call.account,
        "Account": call.account,
        "Arn": partitions.arn(call, "root", service="iam", region=""),
    }
