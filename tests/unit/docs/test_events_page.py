"""docs/events.md has every event that there is, and its examples are valid."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import yaml

from saltform import events
from saltform.config import load

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "events.md").read_text()


def test_nothing_is_fired_under_a_tag_that_is_made_elsewhere():
    """What the test below compares with the page is all that there is."""
    for path in sorted((ROOT / "saltform").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "fire":
                assert re.fullmatch(r"tag|\w+_tag\(.*\)", ast.unparse(node.args[0]), re.DOTALL), (path, node.lineno)


def test_every_tag_is_in_the_table():
    tags = [function for name, function in vars(events).items() if name.endswith("_tag")]
    assert len(tags) >= 5
    for tag in tags:
        names = inspect.signature(tag).parameters
        assert f"`{tag(*(f'<{name}>' for name in names))}`" in PAGE, tag.__name__


def test_the_example_of_pillar_is_valid():
    [tree] = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
    staging = tree["infrastructure"]["environments"]["staging"]
    staging["components"] = {"base": {"module": "base"}}
    assert load(tree).environment("staging").requests == {"ci-1.example.com": ("plan", "deploy")}


def test_the_masters_example_calls_the_reactor_that_is_there():
    example = yaml.safe_load((ROOT / "examples" / "master.d" / "saltform-requests.conf").read_text())
    assert example == {"reactor": [{"saltform/request/*": ["salt://reactor/request.sls"]}]}
    assert (ROOT / "salt" / "reactor" / "request.sls").exists()
