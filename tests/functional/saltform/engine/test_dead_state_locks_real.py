"""Terraform's own lock on a state in S3, left by a killed terraform of ours: released; a stranger's never."""

from __future__ import annotations

import json

import pytest

from tests.functional.saltform.verbs.test_record_lost_real import kill_all, until
from tests.support.runner_process import start
from tests.support.seaweedfs import s3_server
from tests.support.world import statuses

KEYS = ("AKIASTATEACCOUNT0001", "secret/of+the/state+account/0123456789")
AGAIN = """
variable "command" { type = string }
resource "terraform_data" "this" {
  triggers_replace = var.command
  provisioner "local-exec" { command = var.command }
}
"""
KEY = {"Bucket": "states", "Key": "staging/first/terraform.tfstate.tflock"}


@pytest.fixture
def s3(tmp_path_factory):
    with s3_server(tmp_path_factory.mktemp("s3"), *KEYS, "states") as client:
        yield client


@pytest.fixture
def slow(world, s3, tmp_path, monkeypatch):
    names = {"AWS_ACCESS_KEY_ID": "STATES_KEY", "AWS_SECRET_ACCESS_KEY": "STATES_SECRET"}
    for name, value in zip(names.values(), KEYS, strict=True):
        monkeypatch.setenv(name, value)
    world.gate, world.begun = tmp_path / "gate", tmp_path / "begun"
    world.module("again", AGAIN)
    world.components = {"first": {"module": "again", "retry": {"attempts": 1}}}
    backend = {"type": "s3", "bucket": "states", "region": "us-east-1", "endpoint": s3.meta.endpoint_url}
    world.infrastructure = {"defaults": {"backend": {**backend, "credentials": {"environment": {"map": names}}}}}
    return world


def locked(s3):
    found = s3.list_objects_v2(Bucket=KEY["Bucket"], Prefix=KEY["Key"]).get("Contents", [])
    return s3.get_object(**KEY)["Body"].read() if found else b""


def killed(world, number):
    """A deploy that is killed, with its terraform, in the middle of the apply."""
    world.gate.unlink(missing_ok=True)
    world.begun.unlink(missing_ok=True)
    command = f"touch {world.begun}; while ! test -e {world.gate}; do sleep 0.1; done; true {number}"
    world.components["first"]["variables"] = {"command": command}
    process = start(world, "deploy")
    until(world.begun.exists, "the component")
    kill_all(world, process)
    world.gate.touch()


def test_the_lock_that_a_killed_terraform_left_is_released_by_resume_and_unlock_and_a_strangers_never(slow, s3):
    killed(slow, 1)
    assert locked(s3)
    resumed = slow.call("resume", None)
    assert resumed["retcode"] == 0, resumed
    assert any("first: released the state lock that run" in note for note in resumed["notes"])
    assert locked(s3) == b""

    killed(slow, 2)
    left = locked(s3)
    stranger = json.dumps(json.loads(left) | {"Who": "alice@elsewhere"}).encode()
    s3.put_object(**KEY, Body=stranger)
    refused = slow.call("unlock", "staging", "first", "it is in the way")
    assert refused["retcode"] == 75, refused
    assert "alice@elsewhere" in refused["steps"]["first"]["error"]["detail"]
    assert locked(s3) == stranger
    s3.put_object(**KEY, Body=left)
    cleared = slow.call("unlock", "staging", "first", "the machine was reset")
    assert statuses(cleared) == {"first": "applied"}, cleared
    assert locked(s3) == b""

    s3.put_object(**KEY, Body=stranger)
    failed = slow.call("resume", None)
    assert failed["retcode"] == 1
    assert "it is not of a dead run of ours: ask alice@elsewhere" in failed["steps"]["first"]["error"]["fix"]
    assert locked(s3) == stranger
