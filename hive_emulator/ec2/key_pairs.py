"""Key pairs: made here or imported. Only the public part is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import filters, ids, parameters, tagging
from hive_emulator.errors import ApiError

if TYPE_CHECKING:
    from hive_emulator.ec2 import key_material

FILTERS = filters.table(
    "DescribeKeyPairs",
    {"key-pair-id": "KeyPairId", "fingerprint": "KeyFingerprint", "key-name": "KeyName"},
)


@action("CreateKeyPair")
def create_key_pair(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    from hive_emulator.ec2 import key_material  # not before it is needed: see load_actions

    name = _new_name(call, params)
    key_type = parameters.one_of(params, "KeyType", ("rsa", "ed25519"), "rsa")
    key_format = parameters.one_of(params, "KeyFormat", ("pem", "ppk"), "pem")
    pair = key_material.generate(key_type, key_format, name)
    return {**_keep(call, params, name, pair), "KeyMaterial": pair.private}


@action("ImportKeyPair")
def import_key_pair(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    from hive_emulator.ec2 import key_material

    name = _new_name(call, params)
    material = params["PublicKeyMaterial"]
    try:
        pair = key_material.parse(material if isinstance(material, bytes) else material.encode())
    except key_material.UnusableKeyError as error:
        raise ApiError("InvalidKey.Format", str(error)) from None
    return _keep(call, params, name, pair)


@action("DescribeKeyPairs")
def describe_key_pairs(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    found = ids.find_all(call, "key-pair", params.get("KeyPairIds"))
    if "KeyNames" in params:
        found = [find(call, name) for name in dict.fromkeys(params["KeyNames"])]
    found = filters.apply(found, params.get("Filters"), FILTERS)
    if params.get("IncludePublicKey"):
        found = [{**pair, "PublicKey": f"{pair['_PublicKey']} {pair['KeyName']}"} for pair in found]
    return {"KeyPairs": found}


@action("DeleteKeyPair")
def delete_key_pair(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    if "KeyName" not in params and "KeyPairId" not in params:
        raise parameters.missing("KeyName or KeyPairId")
    # As in AWS, to delete a key pair that isn't there is a success.
    wanted = params.get("KeyPairId")
    pair = call.cloud.get("key-pair", wanted) if wanted else _by_name(call, params["KeyName"])
    if pair is None:
        return {"Return": True}
    call.cloud.delete("key-pair", pair["KeyPairId"])
    return {"Return": True, "KeyPairId": pair["KeyPairId"]}


def find(call: Call, name: str) -> dict[str, Any]:
    """The key pair with this name, or AWS's error."""
    pair = _by_name(call, name)
    if pair is None:
        raise ids.not_found("key-pair", name)
    return pair


def _by_name(call: Call, name: str) -> dict[str, Any] | None:
    return next(iter(call.cloud.by("key-pair", "KeyName", name)), None)


def _new_name(call: Call, params: dict[str, Any]) -> str:
    name = parameters.name(params, "KeyName")
    if _by_name(call, name):
        raise ApiError("InvalidKeyPair.Duplicate", f"The keypair '{name}' already exists.")
    return name


def _keep(call: Call, params: dict[str, Any], name: str, pair: key_material.KeyPair) -> dict[str, Any]:
    key_id = ids.new("key")
    return call.cloud.put(
        "key-pair",
        key_id,
        {
            "KeyPairId": key_id,
            "KeyName": name,
            "KeyType": pair.key_type,
            "KeyFingerprint": pair.fingerprint,
            "CreateTime": call.timestamp(),
            "Tags": tagging.on_create(params, "key-pair"),
            "_PublicKey": pair.public,
        },
    )
