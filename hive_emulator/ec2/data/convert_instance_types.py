"""Make ``instance_types.jsonl.gz`` from moto's data: ``python hive_emulator/ec2/data/convert_instance_types.py``.

moto keeps what DescribeInstanceTypes answers on AWS for every type in every region (Apache License 2.0). Written here
is one line a type, in the order of the names: members and values that botocore's shape doesn't know are left out.
"""

from __future__ import annotations

import gzip
import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

TARGET = Path(__file__).with_name("instance_types.jsonl.gz")
_SIZES = "nano micro small medium large xlarge".split()


def converted() -> list[dict[str, Any]]:
    """Every instance type as botocore's InstanceTypeInfo."""
    import botocore.session

    packed = resources.files("moto.ec2").joinpath("resources/instance_types.json.gz").read_bytes()
    shape = botocore.session.get_session().get_service_model("ec2").shape_for("InstanceTypeInfo")
    types = [_known(shape, info) for info in json.loads(gzip.decompress(packed)).values()]
    return sorted(types, key=lambda info: _order(info["InstanceType"]))


def _known(shape: Any, value: Any) -> Any:
    if shape.type_name == "structure":
        return {key: _known(shape.members[key], value[key]) for key in sorted(value) if key in shape.members}
    if shape.type_name == "list":
        allowed = getattr(shape.member, "enum", None)
        return [_known(shape.member, each) for each in value if not allowed or each in allowed]
    return value


def _order(name: str) -> tuple[str, int, int, str]:
    """By family, then from small to large: 2xlarge comes before 12xlarge, metal last."""
    family, _, size = name.partition(".")
    times, word = re.fullmatch(r"(\d*)(.*)", size).groups()  # type: ignore[union-attr]
    place = _SIZES.index(word) if word in _SIZES else len(_SIZES)
    return family, place, int(times or 1), size


def text(types: list[dict[str, Any]]) -> bytes:
    """The file's lines."""
    return "".join(json.dumps(info, separators=(",", ":")) + "\n" for info in types).encode()


if __name__ == "__main__":
    found = converted()
    TARGET.write_bytes(gzip.compress(text(found), 9, mtime=0))
    print(f"{TARGET.name}: {len(found)} types, {TARGET.stat().st_size // 1024} KiB")
