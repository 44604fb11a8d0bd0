"""The pillar and the rules of docs/plans-and-approval.md do what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from saltform.config import load
from saltform.config.approval import KEYS, WHEN
from saltform.config.policies import BUILT_IN, Policies
from saltform.config.roles import APPROVE, DEPLOY, PLAN, ROLES, VIEW
from saltform.plan import Change, Plan
from saltform.policy import Judge

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "plans-and-approval.md").read_text()

RUNNER = set(
    re.findall(r"^def ([a-z]\w*)\(", (ROOT / "salt" / "_runners" / "infrastructure.py").read_text(), re.MULTILINE)
)
RUNNER.add("rollback")


def block(language, holding=""):
    (found,) = [each for each in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if holding in each]
    return found


def judged(folder, name, text, change):
    (folder / name).write_text(text)
    policies = Policies(dict.fromkeys(BUILT_IN, "ignore"), ("salt://policies",))
    return [each.as_dict() for each in Judge(policies, lambda _: folder).judge(Plan((change,)), {})]


def test_the_pillar_of_the_page_is_valid():
    tree = yaml.safe_load(block("yaml", "policies:"))
    tree["infrastructure"]["environments"]["production"]["components"] = {"a": {"module": "m"}}
    found = load(tree).environment("production").policies
    assert found.sources == ("salt://policies", "salt://strict/volumes.rego")
    assert (found.levels["open-to-world"], found.levels["data-destroyed"]) == ("deny", "deny")


def test_the_approval_of_the_page_is_valid_and_every_key_and_word_is_there():
    found = load(yaml.safe_load(block("yaml", "approval:"))).environment("production")
    assert found.approval_of("database").count == 3
    assert found.approval.users == {"alice", "bob", "carol", "dave"}
    for key in KEYS:
        assert f" {key}:" in block("yaml", "approval:")
    for word in WHEN:
        assert f"| `{word}` |" in PAGE


def test_the_roles_of_the_page_are_valid_and_what_they_may_is_what_the_page_says():
    tree = yaml.safe_load(block("yaml", "roles:"))
    assert load(tree).environment("production").components
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.split("## Roles")[1].split("## Audit")[0], re.MULTILINE))
    assert set(rows) == set(ROLES)
    of_the_runner = {verb: set(re.findall(r"`(\w+)`", said)) for verb, said in rows.items()}
    assert of_the_runner["viewer"] == VIEW & RUNNER
    assert of_the_runner["planner"] - {"deploy", "destroy", "promote", "rollback"} == PLAN
    assert of_the_runner["deployer"] - {"drift"} == DEPLOY & RUNNER
    assert of_the_runner["approver"] - {"by"} == APPROVE


def test_the_rule_in_rego_finds_what_it_is_for(tmp_path):
    bare = Change("aws_ebs_volume.a", "aws_ebs_volume", "create", None, {"encrypted": False})
    safe = Change("aws_ebs_volume.a", "aws_ebs_volume", "create", None, {"encrypted": True})
    assert judged(tmp_path, "volumes.rego", block("rego"), safe) == []
    assert judged(tmp_path, "volumes.rego", block("rego"), bare) == [
        {"rule": "volumes.rego", "level": "deny", "address": "aws_ebs_volume.a", "why": "is not encrypted"}
    ]


def test_the_rule_in_python_finds_what_it_is_for(tmp_path):
    owned = Change("aws_vpc.a", "aws_vpc", "create", None, {"tags": {"owner": "ada"}})
    lost = Change("aws_vpc.a", "aws_vpc", "create", None, {"tags": None})
    assert judged(tmp_path, "owners.py", block("python"), owned) == []
    assert judged(tmp_path, "owners.py", block("python"), lost) == [
        {"rule": "owners.py", "level": "warn", "address": "aws_vpc.a", "why": "has no owner"}
    ]


def test_the_page_names_every_built_in_rule():
    for rule in BUILT_IN:
        assert f"| `{rule}` |" in PAGE
