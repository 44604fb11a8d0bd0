"""The IAM calls that providers make on their way: who the account is. There are no users and roles here."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import partitions
from hive_emulator.errors import ApiError


@action("GetUser", service="iam")
def get_user(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """The account's root user; no other exists."""
    name = params.get("UserName")
    if name:
        raise ApiError("NoSuchEntity", f"The user with name {name} cannot be found.", 404)
    arn = partitions.arn(call, "root", service="iam", region="")
    return {
        "User": {
            "Path": "/",
            "UserName": "root",
            "UserId": call.account,
            "Arn": arn,
            "CreateDate": "2020-01-01T00:00:00Z",
        }
    }


@action("ListRoles", service="iam")
def list_roles(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """None."""
    return {"Roles": [], "IsTruncated": False}


@action("ListAccountAliases", service="iam")
def list_account_aliases(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """None."""
    return {"AccountAliases": [], "IsTruncated": False}
