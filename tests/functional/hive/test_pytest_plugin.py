"""The fixtures that the emulator offers to other people's tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import hive_emulator

TEST = """
def test_a_fresh_one(hive):
    assert len(hive.client("ec2").describe_vpcs()["Vpcs"]) == 1
    hive.client("ec2").create_vpc(CidrBlock="10.0.0.0/16")

def test_another_fresh_one(hive):
    assert len(hive.client("ec2").describe_vpcs()["Vpcs"]) == 1

def test_one_for_all(hive_server):
    assert hive_server.client("sts").get_caller_identity()["Account"] == hive_server.account
"""


def test_both_fixtures_work_in_a_project_that_names_the_plugin(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["hive_emulator.pytest_plugin"]\n')
    (tmp_path / "test_it.py").write_text(TEST)
    here = str(Path(hive_emulator.__file__).parents[1])
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": here, "PYTEST_ADDOPTS": ""}
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    ran = subprocess.run(argv, capture_output=True, text=True, env=environ, cwd=tmp_path, check=False)
    assert "3 passed" in ran.stdout, ran.stdout + ran.stderr
