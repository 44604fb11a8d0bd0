"""preflight through Salt's own loader and options: the installed Salt, the master's setting, a Salt nobody knows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import salt.version
import yaml

from tests.support.world import fake_terraform

ROOT = Path(__file__).parents[4]
NEW_ENOUGH = salt.version.__saltstack_version__.major >= 3008
# A process of its own for each: what Salt's loader has imported stays.
CALL = """
import json, sys
import salt.version
if sys.argv[2]:
    salt.version.__version__ = sys.argv[2]
    salt.version.__saltstack_version__ = salt.version.SaltStackVersion.parse(sys.argv[2])
import salt.config, salt.loader
opts = salt.config.apply_master_config(json.loads(sys.argv[1]))
opts |= {"__role": "master", "__cli": "salt-run", "fun": "x"}
runners = salt.loader.runner(opts)
minion = salt.config.apply_minion_config(dict(opts)) | {"grains": {}, "pillar": {}, "file_client": "local"}
modules = salt.loader.minion_mods(minion)
loaded = [name for name in ("terraform.plan", "infrastructure.status") if name in modules]
states = salt.loader.states(minion, modules, {}, {})
loaded += [name for name in ("terraform_resource.present",) if name in states]
print(json.dumps({"returned": runners["infrastructure.preflight"]("lab"), "loaded": loaded}))
"""
HOSTS = """
variable "minions" { type = list(string) }
variable "minion_tokens" { type = map(string) }
output "minions" { value = {} }
"""


@pytest.fixture
def preflight(tmp_path):
    """The runner's answer under a master's settings; `version` stands in for Salt's own."""
    (tmp_path / "modules/hosts").mkdir(parents=True)
    (tmp_path / "modules/hosts/main.tf").write_text(HOSTS)
    (tmp_path / "pillar").mkdir()
    (tmp_path / "mirror").mkdir()
    for folder in ("cache/proc", "pki/minions", "pki/minions_pre", "pki/minions_rejected", "pki/minions_denied"):
        (tmp_path / folder).mkdir(parents=True)  # a master that has started once has them
    web = {"module": "hosts", "minions": ["web-1"]}
    tree = {
        "defaults": {"binary": fake_terraform(tmp_path)},
        "environments": {"lab": {"components": {"web": web, "waits": web | {"minions": ["db-1"], "converge": {}}}}},
    }
    (tmp_path / "pillar/top.sls").write_text("base: {'*': [infrastructure]}\n")
    (tmp_path / "pillar/infrastructure.sls").write_text(yaml.safe_dump({"infrastructure": tree}))

    def call(version: str = "", **settings):
        ours = {"state_dir": str(tmp_path / "state"), "modules": [str(tmp_path / "modules")]}
        given = {
            "root_dir": str(tmp_path),
            "id": "test_master",
            "cachedir": str(tmp_path / "cache"),
            "pki_dir": str(tmp_path / "pki"),
            "module_dirs": [str(ROOT / "salt")],
            "pillar_roots": {"base": [str(tmp_path / "pillar")]},
            "saltform": {**ours, "mirror": str(tmp_path / "mirror"), **settings.pop("saltform", {})},
            **settings,
        }
        done = subprocess.run(
            [sys.executable, "-c", CALL, json.dumps(given), version],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout.splitlines()[-1])
        return said, {(item["check"], item["component"]): item for item in said["returned"]["checks"]}

    return call


def judged(item):
    return "warning" if item["warning"] else "passed" if item["ok"] else "failed"


@pytest.mark.skipif(not NEW_ENOUGH, reason="the setting is Salt 3008's")
def test_a_master_that_hands_tokens_on_passes(preflight):
    _, found = preflight(auth_events_autosign_grains=["pend", "denied"])
    assert judged(found["minion keys", "web"]) == judged(found["minion keys", "waits"]) == "passed"


@pytest.mark.parametrize("setting", [{}, {"auth_events_autosign_grains": ["pend"]}], ids=["unset", "set"])
def test_which_of_the_two_is_in_the_way_is_said_by_the_salt_that_is_here(preflight, setting):
    if NEW_ENOUGH and setting:
        pytest.skip("nothing is in the way then")
    _, found = preflight(**setting)
    why = (
        "the master's configuration has nothing as auth_events_autosign_grains"
        if NEW_ENOUGH
        else "is older than 3008"
    )
    assert why in found["minion keys", "web"]["detail"]
    assert judged(found["minion keys", "web"]) == "warning"
    assert judged(found["minion keys", "waits"]) == "failed"


def test_a_person_who_accepts_keys_makes_it_a_warning(preflight):
    _, found = preflight(saltform={"keys": "manual"})
    assert judged(found["minion keys", "waits"]) == "warning"


def test_an_older_salt_is_named_whatever_its_configuration_says(preflight):
    _, found = preflight("3006.30", auth_events_autosign_grains=["pend"])
    assert "Salt 3006.30 is older than 3008" in found["minion keys", "web"]["detail"]
    assert judged(found["minion keys", "waits"]) == "failed"
    assert judged(found["salt", ""]) == "passed"


def test_under_a_salt_that_nobody_knows_the_modules_load_and_preflight_says_so(preflight):
    said, found = preflight("3009.0", auth_events_autosign_grains=["pend"])
    assert said["loaded"] == ["terraform.plan", "infrastructure.status", "terraform_resource.present"]
    assert judged(found["salt", ""]) == "warning"
    assert "Salt 3009.0 is none that this Saltform knows" in found["salt", ""]["detail"]
    assert judged(found["minion keys", "waits"]) == "passed"
