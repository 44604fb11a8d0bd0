"""salt/top.sls: every host that a component makes gets that component's states, and no other's."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
import yaml

from tests.support.terraform_files import ROOT

NAMES = {
    "consul": ["staging-consul-1", "production-consul-3"],
    "vault": ["staging-vault-1"],
    "boundary": ["staging-boundary-controller-1", "staging-boundary-worker-1"],
    "hecate": ["staging-hecate-1"],
    "hera": ["staging-hera-1"],
}


@pytest.fixture(scope="module")
def top():
    return yaml.safe_load((ROOT / "salt" / "top.sls").read_text())["base"]


@pytest.mark.parametrize("component", NAMES)
def test_hosts_get_the_states_of_their_component(top, component):
    for host in NAMES[component]:
        states = [state for pattern, listed in top.items() if fnmatchcase(host, pattern) for state in listed]
        assert states == [f"components.{component}"]


def test_every_component_folder_is_used_and_every_state_exists(top):
    used = {state.partition(".")[2] for listed in top.values() for state in listed}
    assert used == {path.parent.name for path in (ROOT / "salt" / "components").glob("*/init.sls")}
