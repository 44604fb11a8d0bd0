"""How long it takes to judge a plan with 5,000 resource changes, and how much memory.

    python benchmarks/plans.py [--changes 5000] [--rounds 5]

Every round is a fresh process that parses the JSON, reads the plan, looks for dangers, and makes the digest;
then, apart, it compares it with an approved one and tells each attribute's change. Every tenth resource has a secret
of its own. The peak memory is the whole process's. Beside the wall's clock stands the CPU's, which a busy machine
doesn't stretch. Reach: 1 s and 300 MB.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = ("parse", "read", "dangers", "digest", "refines", "attributes")
JUDGED = STEPS[:4]


def instance(number: int, size: str) -> dict:
    return {
        "ami": "ami-0a1b2c3d",
        "arn": f"arn:aws:ec2:ap-southeast-2:1:instance/i-{number:08x}",
        "instance_type": size,
        "availability_zone": "ap-southeast-2a",
        "disable_api_termination": False,
        "ebs_block_device": [],
        "root_block_device": [{"volume_size": 8, "volume_type": "gp2", "encrypted": True, "iops": 100}],
        "metadata_options": [{"http_tokens": "required", "http_endpoint": "enabled"}],
        "subnet_id": f"subnet-{number % 9:08x}",
        "vpc_security_group_ids": [f"sg-{number % 7:08x}", f"sg-{number % 5:08x}"],
        "user_data": f"secret of machine {number:06}",
        "tags": {"Name": f"machine {number}", "team": "a"},
        "tags_all": {"Name": f"machine {number}", "team": "a", "saltform:run": "1"},
        **{f"attribute_{place}": f"value {place}" for place in range(12)},
    }


def document(changes: int) -> dict:
    found = []
    for number in range(changes):
        action = ("create", "update", "replace")[number % 3]
        secret = number % 10 == 0
        item = {
            "address": f"module.main.aws_instance.this[{number}]",
            "type": "aws_instance",
            "change": {
                "actions": ["delete", "create"] if action == "replace" else [action],
                "before": None if action == "create" else instance(number, "m5.large"),
                "after": instance(number, "m5.xlarge"),
                "after_unknown": {"id": True, "private_ip": True, "root_block_device": [{"volume_id": True}]},
                "before_sensitive": {"user_data": secret, "root_block_device": [{}]},
                "after_sensitive": {"user_data": secret, "root_block_device": [{}]},
            },
        }
        if action == "replace":
            item["change"]["replace_paths"] = [["instance_type"]]
        found.append(item)
    return {"format_version": "1.2", "resource_changes": found, "output_changes": {}}


def one_round(path: Path) -> dict[str, float]:
    from saltform.plan import dangers, digest, read, refines

    moments = [_now()]
    parsed = json.loads(path.read_bytes())
    moments.append(_now())
    plan = read(parsed, b"key")
    moments.append(_now())
    dangers(plan)
    moments.append(_now())
    digest(plan, b"key")
    moments.append(_now())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    approved = read(json.loads(path.read_bytes()), b"key")
    compared = _now()
    if not refines(approved, plan):
        raise SystemExit("the same plan, read again, refines the first")
    moments.append(_now())
    sum(len(change.attributes) for change in plan)
    moments.append(_now())
    spans = [*zip(moments, moments[1:5], strict=False), (compared, moments[5]), (moments[5], moments[6])]
    found = {"memory": memory}
    for step, (began, ended) in zip(STEPS, spans, strict=True):
        found[step], found[f"{step} cpu"] = ended[0] - began[0], ended[1] - began[1]
    return found


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one_round(given.one)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        path.write_text(json.dumps(document(given.changes)))
        megabytes = path.stat().st_size / 1e6
        rounds = [
            json.loads(subprocess.check_output([sys.executable, __file__, "--one", str(path)]))
            for _ in range(given.rounds)
        ]
    print(f"{given.changes} resource changes, {megabytes:.0f} MB of JSON, median of {given.rounds} rounds")
    middle = {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
    for step in STEPS:
        print(f"  {step:<16} {middle[step]:6.2f} s  ({middle[f'{step} cpu']:.2f} s CPU)")
    total, cpu = (sum(middle[f"{step}{suffix}"] for step in JUDGED) for suffix in ("", " cpu"))
    print(f"  {'judged':<16} {total:6.2f} s  ({cpu:.2f} s CPU), {middle['memory']:.0f} MB")


if __name__ == "__main__":
    main()
