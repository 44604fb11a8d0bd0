"""The commands of docs/drift.md, as Salt's command line reads them, on a component that has really drifted."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest
import yaml

from hive_emulator.testing import running_emulator
from saltform.config import load
from tests.support.hive_world import HiveWorld

REPOSITORY = Path(__file__).resolve().parents[4]
PAGE = (REPOSITORY / "docs" / "drift.md").read_text()
MODULE = """
resource "aws_vpc" "this" {
  cidr_block = "10.7.0.0/16"
  tags       = { Name = "staging" }
}
output "id" { value = aws_vpc.this.id }
"""


def commands():
    lines = [line for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
    return [shlex.split(line) for line in lines if line]


@pytest.fixture
def runner(world_on_hive, monkeypatch):
    """The runner's own functions, so that their argument names are checked, with the world behind them."""
    path = REPOSITORY / "salt" / "_runners" / "infrastructure.py"
    spec = importlib.util.spec_from_file_location("documented_runner", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def call(verb, unknown, *arguments):
        assert not unknown
        return world_on_hive.call(verb, *arguments)

    monkeypatch.setattr(module, "_call", call)
    return module


@pytest.fixture
def world_on_hive(tmp_path):
    with running_emulator() as hive:
        world = HiveWorld(tmp_path, hive)
        world.module("network", MODULE)
        world.components = {"networking": {"module": "network", "provider": "hive"}}
        deployed = world.deploy()
        assert deployed["retcode"] == 0, deployed
        tag = {"Key": "Name", "Value": "renamed by hand"}
        hive.client("ec2").create_tags(Resources=[deployed["outputs"]["networking"]["id"]], Tags=[tag])
        yield world


def test_every_command_does_what_the_page_says(runner):
    from salt.utils.args import parse_kwarg, yamlify_arg

    codes = []
    for program, verb, *rest in commands():
        assert program == "salt-run"
        words = [parse_kwarg(word) for word in rest]
        positional = [yamlify_arg(word) for word, (name, _) in zip(rest, words, strict=True) if name is None]
        keywords = {name: yamlify_arg(value) for name, value in words if name is not None}
        returned = getattr(runner, verb.removeprefix("infrastructure."))(*positional, **keywords)
        assert "error" not in returned, returned["error"]
        codes.append((verb.partition(".")[2], returned["retcode"]))
    # Acknowledged drift is exit code 0, and is not healed.
    assert codes == [
        ("drift", 2),
        ("drift", 2),
        ("report", 0),
        ("acknowledge", 0),
        ("drift", 0),
        ("drift", 0),
        ("drift", 0),
        ("sync_states", 0),
        ("history", 0),
    ]


def test_the_pages_pillar_is_valid():
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    tree = yaml.safe_load(block)
    tree["infrastructure"]["environments"]["staging"]["components"]["consul"]["module"] = "m"
    consul = load(tree).environment("staging").components["consul"]
    assert consul.ignore_drift == ("*.tags.CostCenter", "aws_instance.*.tags.LastScan")
