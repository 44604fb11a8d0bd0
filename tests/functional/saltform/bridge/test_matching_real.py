"""Every minion × every output, with Salt's own matchers and pillar: who sees what, and who lies in vain."""

from __future__ import annotations

import json

import pytest

from saltform.config import load
from saltform.errors import ConfigError

TARGETS = {
    "glob": "web*",
    "list": "L@web-1,db-1",
    "ids": ["web-2"],
    "grain": "G@role:web",
    "pillar": "I@tier:front",
    "compound": "( web* and I@tier:front ) or G@role:db and not db-2",
    "broken": "G@role:web and (",
    "nobody": "",
}
SENSITIVE = {"by_id": ["vault-1"], "by_pillar": "I@tier:front and not web-2", "by_nobody": []}
PILLAR = {"web-1": "front", "web-2": "front", "db-1": "back"}  # the master's word, by id
GRAINS = {"web-1": "web", "web-2": "web", "db-1": "db", "db-2": "db", "vault-1": "vault", "liar": "web"}
SEEN = {
    "web-1": {"glob", "list", "grain", "pillar", "compound", "by_pillar"},
    "web-2": {"glob", "ids", "grain", "pillar", "compound"},
    "db-1": {"list", "compound"},
    "db-2": set(),
    "vault-1": {"by_id"},
    "liar": {"grain"},  # a grain is all that it can say
    "../../web-1": set(),
    "web-1/../vault-1": {"glob"},  # an id that no master accepts: a glob is a glob
    "": set(),
}


@pytest.fixture
def compiled(tmp_path):
    """A minion's pillar, as the master compiles it; `brought` is what the minion sends along."""
    config = pytest.importorskip("salt.config")
    import salt.pillar

    state_dir, pillar = tmp_path / "state", tmp_path / "pillar"
    pillar.mkdir()
    (pillar / "top.sls").write_text(json.dumps({"base": {name: [tier] for name, tier in PILLAR.items()}}))
    for tier in set(PILLAR.values()):
        (pillar / f"{tier}.sls").write_text(json.dumps({"tier": tier}))
    index = {}
    for name, targets in TARGETS.items():
        index[name] = {"state": str(_state(state_dir, name)), "targets": targets, "outputs": {}}
    index["secrets"] = {"state": str(_state(state_dir, "secrets")), "targets": "", "outputs": SENSITIVE}
    dev = tmp_path / "dev"  # another environment, in which everybody is in front
    dev.mkdir()
    (dev / "top.sls").write_text(json.dumps({"dev": {"*": ["front"]}}))
    (dev / "front.sls").write_text(json.dumps({"tier": "front"}))
    (state_dir / "index").mkdir()
    (state_dir / "index" / "staging.json").write_text(json.dumps(index))
    settings = {
        "root_dir": str(tmp_path),
        "cachedir": str(tmp_path / "cache"),
        "pillar_roots": {"base": [str(pillar)], "dev": [str(dev)]},
        "file_roots": {"base": [str(tmp_path / "files")]},
        "ext_pillar": [{"terraform_outputs": {}}],
        "saltform": {"state_dir": str(state_dir)},
        "id": "master",
    }
    (tmp_path / "master").write_text(json.dumps(settings))
    opts = config.master_config(str(tmp_path / "master"))

    def compile_for(minion, brought=None, first=False, saltenv="base", pillarenv=None, decides=None, **more):
        given = {**opts, "ext_pillar_first": first, **more}
        given["saltform"] = {**opts["saltform"], **({"pillarenv": decides} if decides else {})}
        grains = {"id": minion, "role": GRAINS.get(minion, "")}
        tree = salt.pillar.Pillar(
            given, grains, minion, saltenv, pillar_override=brought, pillarenv=pillarenv
        ).compile_pillar()
        components = tree.get("terraform", {}).get("staging", {})
        return set(components) - {"secrets"} | set(components.get("secrets", {}))

    return compile_for


def _state(state_dir, name):
    secret = name == "secrets"
    outputs = {
        key: {"value": f"{name} {key}", "type": "string", "sensitive": secret}
        for key in ([*SENSITIVE, "unnamed"] if secret else ["address"])
    }
    path = state_dir / "states" / "staging" / name / "terraform.tfstate"
    path.parent.mkdir(parents=True)
    tree = {"version": 4, "terraform_version": "1.11.4", "serial": 1, "lineage": "l", "resources": []}
    path.write_text(json.dumps(tree | {"outputs": outputs}))
    return path


@pytest.mark.parametrize("minion", SEEN)
def test_every_minion_sees_exactly_what_is_meant_for_it(compiled, minion):
    assert compiled(minion) == SEEN[minion]


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("minion", ["liar", "db-2", "web-2"])
def test_pillar_that_a_minion_brings_along_opens_nothing(compiled, minion, first):
    assert compiled(minion, brought={"tier": "front"}, first=first) == SEEN[minion]


@pytest.mark.parametrize("minion", ["liar", "db-1", "web-1"])
@pytest.mark.parametrize(
    "chosen", [{"pillarenv": "dev"}, {"saltenv": "dev"}, {"saltenv": None}, {"pillarenv": "dev", "saltenv": "dev"}]
)
@pytest.mark.parametrize("settings", [{}, {"pillarenv_from_saltenv": True}])
def test_a_minion_does_not_choose_the_pillar_environment(compiled, minion, chosen, settings):
    assert compiled(minion, **chosen, **settings) == SEEN[minion]


def test_the_master_chooses_it(compiled):
    assert compiled("liar", decides="dev") == {"grain", "pillar", "by_pillar"}
    assert compiled("liar", decides="none-of-that-name") == {"grain"}


def test_a_folder_for_every_environment_opens_nothing(compiled, tmp_path):
    """`__env__`: Salt has put the minion's choice in its place by the time that we are asked."""
    roots = {"__env__": [str(tmp_path / "__env__")]}
    assert compiled("liar", pillarenv="dev", pillar_roots=roots) == {"grain"}


@pytest.mark.parametrize("targets", ["G@role:vault", "I@tier:front or P@os:.*", "(G@a:b)", "S@10.0.0.0/8"])
def test_grains_and_what_is_made_of_them_are_refused_for_one_output(targets):
    component = {"module": "base", "outputs": {"token": {"targets": targets}}}
    tree = {"infrastructure": {"environments": {"staging": {"components": {"vault": component}}}}}
    with pytest.raises(ConfigError) as raised:
        load(tree)
    assert "the minion's own word" in str(raised.value)
