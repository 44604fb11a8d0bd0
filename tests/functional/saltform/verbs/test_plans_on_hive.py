"""Dangers in plans of the real aws provider, and the page about plans with its commands."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

from hive_emulator.testing import running_emulator
from saltform.report import text
from tests.support.hive_world import HiveWorld

REPOSITORY = Path(__file__).resolve().parents[4]
PAGE = (REPOSITORY / "docs" / "plans-and-approval.md").read_text()
MODULE = """
variable "open_to" { type = list(string) }
variable "size" { type = number }
variable "zone" { type = string }
resource "aws_vpc" "this" { cidr_block = "10.7.0.0/16" }
resource "aws_security_group" "this" {
  vpc_id = aws_vpc.this.id
  name   = "ssh"
  ingress {
    from_port   = 22
    to_port     = 22
    protocol    = "tcp"
    cidr_blocks = var.open_to
  }
}
resource "aws_ebs_volume" "data" {
  availability_zone = var.zone
  size              = var.size
}
"""


@pytest.fixture(scope="module")
def on_hive(tmp_path_factory):
    with running_emulator() as hive:
        world = HiveWorld(tmp_path_factory.mktemp("hive"), hive)
        world.module("store", MODULE)
        zone = f"{hive.region}a"
        variables = {"open_to": ["10.0.0.0/8"], "size": 8, "zone": zone}
        world.components = {"store": {"module": "store", "provider": "hive", "variables": variables}}
        deployed = world.deploy()
        assert deployed["retcode"] == 0, deployed
        yield world


@pytest.fixture
def dangerous(on_hive):
    """The same component with a door opened and its volume to be made anew; put back afterwards."""
    variables = on_hive.components["store"]["variables"]
    zone = variables["zone"]
    changed = {"open_to": ["0.0.0.0/0"], "size": 9, "zone": zone[:-1] + "b"}
    on_hive.components["store"]["variables"] = changed
    yield on_hive
    on_hive.components["store"]["variables"] = variables


def test_an_opened_door_and_a_replaced_volume_are_dangers(dangerous):
    planned = dangerous.plan()
    found = {(each["rule"], each["address"], each["why"]) for each in planned["steps"]["store"]["verdicts"]}
    assert found == {
        ("open-to-world", "aws_security_group.this", "lets 0.0.0.0/0 in to port 22"),
        ("data-destroyed", "aws_ebs_volume.data", "holds data and would be replaced"),
    }
    said = text.render(planned)
    assert "! aws_ebs_volume.data holds data and would be replaced  (data-destroyed)" in said
    assert "size: 8 → 9" in said
    assert "availability_zone" in said and "(forces replacement)" in said


@pytest.fixture
def runner(dangerous, monkeypatch):
    """The runner's own functions, so that their argument names are checked, with the world behind them."""
    path = REPOSITORY / "salt" / "_runners" / "infrastructure.py"
    spec = importlib.util.spec_from_file_location("runner_of_plans", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def call(verb, unknown, *arguments):
        assert not unknown
        return dangerous.call(verb, *arguments)

    monkeypatch.setattr(module, "_call", call)
    return module


def test_every_command_of_the_page_does_what_it_says(runner):
    from salt.utils.args import parse_kwarg

    blocks = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    codes = []
    for program, verb, *rest in (shlex.split(line) for block in blocks for line in block.splitlines()):
        assert program == "salt-run"
        words = [(word, *parse_kwarg(word)) for word in rest]
        keywords = {name: value for _, name, value in words if name}
        positional = [word for word, name, _ in words if not name]
        returned = getattr(runner, verb.removeprefix("infrastructure."))(*positional, **keywords)
        assert "error" not in returned, returned["error"]
        codes.append((verb.partition(".")[2], returned["retcode"]))
    assert codes == [("plan", 2), ("plan", 2), ("report", 0)]


def test_the_page_shows_what_is_really_said(dangerous):
    """Line by line, times and run ids aside."""
    (block,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    said = text.render(dangerous.plan())
    lines = [line.strip() for line in block.splitlines() if line.strip()]
    shown = [line for line in lines if not re.search(r"run \d|component +status|\d s ", line)]
    assert len(shown) > 6
    for line in shown:
        assert line in said, said
