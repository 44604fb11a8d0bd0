"""docs/components.md: its commands work, with the pillar that it shows."""

from __future__ import annotations

import re
import shlex

import pytest
import yaml

from tests.support.salt_local import ROOT, SaltCall, failed

PAGE = (ROOT / "docs" / "components.md").read_text()
COMMANDS = sorted(set(re.findall(r"^\$ (salt-call .*)$", PAGE, re.M)))
ME = "staging-1"
HOSTS = {"address": "10.20.1.5", "addresses": ["10.20.1.5", "10.20.1.6"], "hosts": {ME: "10.20.1.5"}}
UPSTREAM = {"name": "hera", "port": 8080, "addresses": ["10.20.1.5"], "health_path": "/health"}
OUTPUTS = {
    "consul": HOSTS,
    "vault": {**HOSTS, "data_device": "/dev/xvdf", "consul_address": "10.20.1.5"},
    "boundary": {**HOSTS, "worker_hosts": {}, "vault_address": "10.20.1.5"},
    "hera": {**HOSTS, "port": 8080, "consul_address": "10.20.1.5"},
    "hecate": {**HOSTS, "upstreams": [UPSTREAM], "health_check": {"interval": 10, "timeout": 2, "failures": 3}},
}


def shown() -> dict[str, dict[str, object]]:
    """What the page says that pillar has, all blocks together."""
    found: dict[str, dict[str, object]] = {}
    for block in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S):
        for name, value in yaml.safe_load(block).items():
            found.setdefault(name, {}).update(value)
    return found


@pytest.fixture
def minion(tmp_path):
    pillar = shown()
    pillar["components"]["root"] = pillar["worker"]["root"] = str(tmp_path / "host")
    minion = SaltCall(tmp_path, ME)
    minion.pillar({**pillar, "terraform": {"staging": OUTPUTS}})
    return minion


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_works(minion, command):
    [_salt_call, function, sls, *options] = shlex.split(command)
    assert function == "state.apply"
    results = minion.apply(sls, test=options == ["test=True"])
    assert failed(results) == {}


def test_every_component_is_on_the_page():
    folders = {path.parent.name for path in (ROOT / "salt" / "components").glob("*/init.sls")}
    assert folders == {command.split("components.")[1].split()[0] for command in COMMANDS if "components." in command}
    assert folders == set(shown()["components"])
