"""drift with real Terraform: what differs in reality (Hive, changed behind Terraform's back), and what can't."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from hive_emulator.testing import running_emulator
from saltform.engine.result import failure
from saltform.layout import Layout
from saltform.report import text
from saltform.report.progress import Progress
from saltform.runlog import RunLog, flock
from tests.support.hive_world import HiveWorld
from tests.support.world import CountedProcesses

NETWORK = """
variable "ports" { default = [80] }
variable "secret" {
  default   = "hush-hush-hush"
  sensitive = true
}
resource "aws_vpc" "this" {
  cidr_block = "10.9.0.0/16"
  tags       = { Name = "net", Key = var.secret }
}
resource "aws_subnet" "this" {
  vpc_id     = aws_vpc.this.id
  cidr_block = "10.9.1.0/24"
}
resource "aws_security_group" "open" {
  name   = "open"
  vpc_id = aws_vpc.this.id
  dynamic "ingress" {
    for_each = var.ports
    content {
      from_port   = ingress.value
      to_port     = ingress.value
      protocol    = "tcp"
      cidr_blocks = ["10.0.0.0/8"]
    }
  }
}
resource "aws_security_group" "bare" {
  name   = "bare"
  vpc_id = aws_vpc.this.id
}
output "vpc" { value = aws_vpc.this.id }
output "subnet" { value = aws_subnet.this.id }
output "open" { value = aws_security_group.open.id }
output "bare" { value = aws_security_group.bare.id }
"""


def check(returned, name):
    return returned["steps"][name]["check"]


def found(returned, name, kind="findings"):
    return {
        f"{entry['address']}.{entry['attribute']}": (entry["before"], entry["after"])
        for entry in check(returned, name)[kind]
    }


def test_what_was_changed_behind_terraforms_back_is_found_told_apart_acknowledged_and_healed(tmp_path):
    with running_emulator() as hive:
        world, ec2 = HiveWorld(tmp_path, hive), hive.client("ec2")
        world.module("network", NETWORK)
        rules = ["aws_vpc.*.tags.LastScan"]
        world.components = {"net": {"module": "network", "provider": "hive", "drift": {"ignore": rules}}}
        assert world.deploy()["retcode"] == 0
        ids = world.call("outputs", "staging", None)["outputs"]["net"]

        clean = world.drift()
        assert (clean["retcode"], check(clean, "net")["status"]) == (0, "clean"), check(clean, "net")

        tags = {"Name": "renamed", "Key": "another-secret", "LastScan": "today"}
        ec2.create_tags(Resources=[ids["vpc"]], Tags=[{"Key": key, "Value": tags[key]} for key in tags])
        ec2.delete_tags(Resources=[ids["vpc"]], Tags=[{"Key": "saltform:component"}])
        rule = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
        for group in ("open", "bare"):
            ec2.authorize_security_group_ingress(GroupId=ids[group], IpPermissions=[rule])
        ec2.delete_subnet(SubnetId=ids["subnet"])

        told = io.StringIO()
        drifted = world.call("drift", "staging", {}, services=world.services(progress=Progress(told)))
        assert " net drifted 5 differences" in told.getvalue()
        assert drifted["retcode"] == 2
        assert check(drifted, "net")["status"] == "drifted"
        real = found(drifted, "net")
        assert real.pop("aws_vpc.this.tags.Name") == ("net", "renamed")
        assert real.pop("aws_vpc.this.tags.Key") == ("(sensitive)", "(sensitive)")
        assert real.pop("aws_vpc.this.tags_all.saltform:component") == ("net", None)
        assert real.pop("aws_subnet.this.") == ("there", "gone")
        before, after = real.pop("aws_security_group.open.ingress")
        assert before is None
        assert [item["from_port"] for item in after] == [22]
        assert not real, "the tag that a rule ignores, and what tags_all only repeats, are not among them"
        assert check(drifted, "net")["ignored"] == {"aws_vpc.*.tags.LastScan": 1}
        assert list(found(drifted, "net", "computed")) == ["aws_security_group.bare.ingress"]
        assert check(drifted, "net")["pending"] == []
        assert "another-secret" not in json.dumps(drifted)
        assert "hush-hush-hush" not in json.dumps(drifted)
        tags_and_data = [event for event in world.events.fired if event[0] == "saltform/drift/staging/net"]
        assert [(data["status"], data["was"], data["changed"]) for _, data in tags_and_data] == [
            ("drifted", "clean", True)
        ]
        assert "drifted" in text.render(world.call("show", drifted["run"]))
        shown = text.render(drifted)
        assert 'aws_vpc.this.tags.Name: "net" → "renamed"' in shown
        assert "aws_subnet.this is gone" in shown
        assert "1 difference hidden by the ignore rule aws_vpc.*.tags.LastScan" in shown
        markdown = Path(world.call("report", "last", "markdown")["path"]).read_text()
        assert 'aws_vpc.this.tags.Name: "net" → "renamed"' in markdown

        asked = world.call("acknowledge", "staging", "net", "aws_vpc.this.tags*", "7d", "an audit", "True")
        assert "would be acknowledged" in asked["summary"]
        log = RunLog(world.state_dir / "runs.sqlite")
        assert not any(finding.known_by for finding in log.drift.findings("staging", "net"))
        log.close()
        said = world.call("acknowledge", "staging", "net", "aws_vpc.this.tags*", "7d", "an audit")
        assert said["retcode"] == 0, said
        ec2.revoke_security_group_ingress(GroupId=ids["open"], IpPermissions=[rule])
        world.components["net"]["variables"] = {"ports": [80, 443]}
        again = world.drift(heal=True)
        states = {f"{item['address']}.{item['attribute']}": item["state"] for item in check(again, "net")["findings"]}
        assert states["aws_vpc.this.tags.Name"] == "known"
        assert states["aws_subnet.this."] == "new"
        assert list(found(again, "net", "resolved")) == ["aws_security_group.open.ingress"]
        assert again["retcode"] == 2
        first = {item["attribute"]: item["first_seen"] for item in check(drifted, "net")["findings"]}
        assert {item["first_seen"] for item in check(again, "net")["findings"]} <= set(first.values())

        assert "net is not healed: its code has changed too" in again["notes"][-1]
        assert check(again, "net")["pending"] == [{"address": "aws_security_group.open", "action": "update"}]
        assert "healed" not in again
        del world.components["net"]["variables"]

        world.components["net"]["approval"] = {"when": "always"}
        waiting = world.drift(heal=True)
        assert (waiting["retcode"], waiting["healed"]["steps"]["net"]["status"]) == (3, "awaiting approval")
        del world.components["net"]["approval"]

        healed = world.drift(heal=True)
        assert healed["retcode"] == 0, healed
        whole, by = healed["notes"]
        assert whole == "net is healed as a whole: what was acknowledged there is applied back too"
        assert by == f"healed by run {healed['healed']['run']}: net"
        assert healed["healed"]["steps"]["net"]["status"] == "applied"
        names = {tag["Key"]: tag["Value"] for tag in ec2.describe_vpcs(VpcIds=[ids["vpc"]])["Vpcs"][0]["Tags"]}
        assert names["Name"] == "net"
        assert world.call("status", "staging")["components"]["net"]["status"] == "applied"
        assert world.drift()["retcode"] == 0


@pytest.fixture
def drift(staging):
    return lambda **options: staging.call("drift", "staging", options)


def test_what_is_as_the_states_say_is_clean_with_one_process_each(staging, drift):
    returned = drift()
    assert returned["retcode"] == 0
    assert {check(returned, name)["status"] for name in returned["steps"]} == {"clean"}
    assert staging.processes.commands() == ["plan", "plan"]
    assert all("-refresh-only" in argv and "-lock=false" in argv for argv in staging.processes.started)
    assert returned["summary"].startswith("drift staging: 2 clean in ")


def test_a_check_leaves_nothing_behind_and_changes_no_state(staging, drift):
    state = staging.state_dir / "states" / "staging" / "networking" / "terraform.tfstate"
    before = state.read_bytes()
    drift()
    assert state.read_bytes() == before
    assert sorted(path.name for path in (staging.state_dir / "workspaces" / "staging").iterdir()) == [
        "consul",
        "networking",
    ]


def test_a_pending_change_is_not_drift_and_is_planned_against_the_state_alone(staging, drift):
    staging.components["networking"]["variables"]["name"] = "renamed"
    returned = drift()
    assert returned["retcode"] == 0
    assert check(returned, "networking")["status"] == "clean"
    assert check(returned, "networking")["pending"] == [{"address": "terraform_data.this", "action": "update"}]
    assert check(returned, "consul")["pending"] == []
    assert sum("-refresh=false" in argv for argv in staging.processes.started) == 1
    assert "1 with a pending change" in returned["summary"]


def test_a_component_that_was_never_applied_starts_nothing(world):
    world.components = {"a": {"module": "base", "variables": {"name": "a"}}}
    returned = world.call("drift", "staging", {})
    assert (returned["retcode"], check(returned, "a")["status"]) == (0, "never applied")
    assert world.processes.started == []


def test_a_check_that_failed_is_unknown_and_keeps_the_others(staging, drift):
    drift()
    module = staging.home / "modules" / "app" / "main.tf"
    module.write_text(module.read_text() + 'output "bad" { value = nonsense.that.is_not_there }\n')
    returned = drift()
    assert returned["retcode"] == 1
    assert check(returned, "networking")["status"] == "clean"
    assert check(returned, "consul")["status"] == "unknown"
    assert check(returned, "consul")["was"] == "clean"
    told = {data["component"]: data["status"] for tag, data in staging.events.fired if "/drift/" in tag}
    assert told == {"networking": "clean", "consul": "unknown"}


def test_a_component_that_a_run_is_at_work_on_is_not_judged(staging, drift):
    path = Layout(staging.state_dir).component_lock("staging", "consul")
    with flock.hold(path, {"run": "4711", "author": "bob"}, "staging/consul"):
        returned = drift()
    assert returned["retcode"] == 75
    assert "run 4711 by bob" in returned["steps"]["consul"]["error"]["detail"]
    assert check(returned, "consul")["status"] == "unknown"


@pytest.mark.parametrize(
    ("arguments", "summary"),
    [
        (("networking", "aws_vpc.this", "7d", "why"), "unknown finding 'aws_vpc.this'"),
        (("networking", "aws_vpc.this", "7d", None), "bad argument 'reason'"),
        (("networking", "aws_vpc.this", "yesterday", "why"), "bad argument 'until'"),
        (("networking", "aws_vpc.this", "2001-01-01", "why"), "bad argument 'until'"),
        (("networking", "aws_vpc.this", "9999d", "why"), "bad argument 'until'"),
        (("netwrking", "aws_vpc.this", "7d", "why"), "unknown component 'netwrking'"),
    ],
)
def test_an_acknowledgement_that_makes_no_sense_is_refused(staging, arguments, summary):
    returned = staging.call("acknowledge", "staging", *arguments)
    assert returned["retcode"] == failure("acknowledge", Exception())["retcode"]
    assert summary in returned["error"]["summary"].lower(), returned["error"]


def test_what_was_checked_a_moment_ago_is_left_out(staging, drift):
    assert len(drift(every="1h", components="consul")["steps"]) == 1
    second = drift(every="1h")
    assert list(second["steps"]) == ["networking"]
    assert second["notes"] == ["1 of 2 checked within the last 1 h 0 min"]
    third = drift(every="1h")
    assert (third["retcode"], third["steps"], staging.processes.started) == (0, {}, [])
    assert "2 of 2 checked within" in third["summary"]
    assert drift(every="soon")["error"]["summary"] == "bad argument 'every'"


class ChangedMeanwhile(CountedProcesses):
    """While terraform compares, somebody else applies."""

    def __init__(self, state):
        super().__init__()
        self.state = state

    def run(self, argv, **given):
        ended = super().run(argv, **given)
        tree = json.loads(self.state.read_text())
        self.state.write_text(json.dumps(tree | {"serial": tree["serial"] + 1}, indent=2) + "\n")
        return ended


def test_a_state_that_moves_during_the_check_makes_it_unknown(staging):
    state = staging.state_dir / "states" / "staging" / "networking" / "terraform.tfstate"
    services = staging.services(processes=ChangedMeanwhile(state))
    returned = staging.call("drift", "staging", {"components": "networking"}, services=services)
    assert returned["retcode"] == 1
    assert check(returned, "networking")["status"] == "unknown"
    assert "changed during the check" in returned["steps"]["networking"]["error"]["summary"]


def test_the_findings_of_a_check_are_shown_with_its_run(staging, drift):
    staging.components["networking"]["variables"]["name"] = "renamed"
    run = drift()["run"]
    shown = staging.call("show", run)
    assert check(shown, "networking")["pending"] == [{"address": "terraform_data.this", "action": "update"}]
    assert "terraform_data.this  (pending change)" in text.render(shown)
    assert [item["verb"] for item in staging.call("history", "staging", 5)["runs"]] == ["drift", "deploy"]
