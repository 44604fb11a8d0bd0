"""Tags that come with a create call (``TagSpecification``), and the limits that hold for all tags."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hive_emulator.errors import ApiError

MAX_TAGS = 50
MAX_KEY = 128
MAX_VALUE = 256

Tags = list[dict[str, str]]


def on_create(params: dict[str, Any], resource_type: str, *, among: Iterable[str] = ()) -> Tags:
    """The tags that a create call gives to resources of this type.

    ``among`` names the other types that the same call may tag (RunInstances also makes volumes).
    """
    allowed = {resource_type, *among}
    tags: Tags = []
    for spec in params.get("TagSpecifications", ()):
        given = spec.get("ResourceType")
        if given not in allowed:
            raise ApiError(
                "InvalidParameterValue",
                f"'{given}' is not a valid taggable resource type for this operation.",
            )
        if not spec.get("Tags"):
            raise ApiError("InvalidParameterValue", "Tag specification must have at least one tag")
        if given == resource_type:
            tags.extend(spec["Tags"])
    return checked(tags)


def checked(tags: Iterable[dict[str, str]]) -> Tags:
    """The tags of one resource in the shape that is stored, or AWS's error for what is wrong with them."""
    stored: dict[str, str] = {}
    for tag in tags:
        key, value = tag.get("Key", ""), tag.get("Value", "")
        _check_lengths(key, value)
        if key in stored:
            raise ApiError("InvalidParameterValue", f"Duplicate tag key '{key}' specified.")
        stored[key] = value
    check_count(len(stored))
    return [{"Key": key, "Value": value} for key, value in stored.items()]


def check_count(count: int) -> None:
    if count > MAX_TAGS:
        raise ApiError(
            "TagLimitExceeded",
            f"The maximum number of Tags for a resource has been reached ({count}, {MAX_TAGS} allowed).",
        )


def _check_lengths(key: str, value: str) -> None:
    if not key:
        raise ApiError("InvalidParameterValue", "Tag keys cannot be null or empty")
    if len(key) > MAX_KEY:
        raise ApiError("InvalidParameterValue", f"Tag key exceeds the maximum length of {MAX_KEY} characters")
    if len(value) > MAX_VALUE:
        raise ApiError("InvalidParameterValue", f"Tag value exceeds the maximum length of {MAX_VALUE} characters")
    if key.lower().startswith("aws:"):
        raise ApiError("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")


def merged(old: Tags, new: Tags) -> Tags:
    """What CreateTags leaves on a resource: new values win, the order of the old ones stays."""
    tags = {tag["Key"]: tag for tag in (*old, *new)}
    check_count(len(tags))
    return list(tags.values())
