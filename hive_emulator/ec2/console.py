"""What an instance would show on its console, and its UEFI variables."""

from __future__ import annotations

import base64
from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import ids
from hive_emulator.errors import ApiError


@action("GetConsoleOutput")
def get_console_output(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    instance = ids.find(call, "instance", params["InstanceId"])
    text = "".join(f"{line}\r\n" for line in _boot_log(instance))
    return {
        "InstanceId": instance["InstanceId"],
        "Timestamp": instance["LaunchTime"],
        "Output": base64.b64encode(text.encode()).decode(),
    }


def _boot_log(instance: dict[str, Any]) -> list[str]:
    if instance["State"]["Name"] not in ("running", "stopping", "stopped"):
        return []
    host = instance["PrivateDnsName"].partition(".")[0]
    return [
        f"Hive: {instance['InstanceType']} {instance['InstanceId']} booting {instance['ImageId']}",
        f"cloud-init: instance-id {instance['InstanceId']}, local-ipv4 {instance.get('PrivateIpAddress', '-')}",
        f"{host} login: ",
    ]


@action("GetInstanceUefiData")
def get_instance_uefi_data(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    instance = ids.find(call, "instance", params["InstanceId"])
    if instance["CurrentInstanceBootMode"] != "uefi":
        raise ApiError(
            "UnsupportedOperation",
            f"The instance {instance['InstanceId']} was not started in UEFI mode and has no UEFI data.",
        )
    # No variables were ever set: an empty store.
    return {"InstanceId": instance["InstanceId"], "UefiData": ""}
