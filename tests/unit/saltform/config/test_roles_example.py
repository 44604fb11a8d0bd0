"""The example of `external_auth`: Salt's own check lets each role call what the role has, and no other verb."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import yaml

from saltform.config.roles import ROLES

ROOT = Path(__file__).parents[4]
EXAMPLE = yaml.safe_load((ROOT / "examples" / "master.d" / "saltform-roles.conf").read_text())
VERBS = [
    node.name
    for node in ast.parse((ROOT / "salt" / "_runners" / "infrastructure.py").read_text()).body
    if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
]
DRY = {"deploy", "destroy", "promote", "rollback"}


@pytest.mark.parametrize("role", ROLES)
def test_the_gate_lets_a_role_call_its_verbs_and_no_others(role):
    minions = pytest.importorskip("salt.utils.minions")
    rules = EXAMPLE["external_auth"]["pam"][f"{role}s%"]
    check = object.__new__(minions.CkMinions)  # its checks of functions need nothing of a master
    for verb in VERBS:
        let_in = check.runner_check(rules, f"infrastructure.{verb}", {"arg": ["staging"], "kwarg": {}})
        expected = ROLES[role] is None or verb in ROLES[role] or (role == "planner" and verb in DRY)
        assert bool(let_in is True) is expected, (verb, let_in)
    assert check.runner_check(rules, "salt.cmd", {"arg": ["test.ping"], "kwarg": {}}) is not True
