"""What came out of Terraform is pillar, for those it is meant for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.cluster import HOME, UNMASKED, Cluster, wait_for
from tests.support.documented import command


@pytest.fixture(scope="module")
def deployed(cluster: Cluster) -> Cluster:
    assert cluster.runner("deploy", "pillar").exit_code == 0
    return cluster


def pillar_of(cluster: Cluster, minion: str) -> dict[str, Any]:
    tree: dict[str, Any] = cluster.run("salt-run", "pillar.show_pillar", f"minion={minion}", "--out=json").tree
    return tree


def test_the_minion_is_told_and_has_the_outputs_in_its_pillar(deployed: Cluster) -> None:
    """Nobody refreshes it here: the deploy did."""
    wait_for(
        lambda: deployed.ask("pillar.raw", "terraform")[0].get("pillar", {}).get("base", {}).get("name") == "base"
    )
    outputs, _code = deployed.ask("pillar.raw", "terraform")
    assert set(outputs["pillar"]["base"]) == {"id", "name", "password"}
    words = command("docs/pillar.md", "salt 'web*'", **{"web*": HOME})
    assert deployed.run(*words, "--out=json").tree == {HOME: outputs}


@pytest.mark.parametrize(
    ("minion", "seen"),
    [(HOME, {"id", "name", "password"}), ("web-7", {"id", "name"}), ("vault-1", {"password"}), ("vault-10", None)],
)
def test_each_minion_sees_what_is_meant_for_it(deployed: Cluster, minion: str, seen: set[str] | None) -> None:
    tree = pillar_of(deployed, minion)
    found = tree.get("terraform", {}).get("pillar", {}).get("base")
    assert (set(found) if found else None) == seen
    assert ("hush-hush-base" in str(tree)) == bool(seen and "password" in seen)


@pytest.mark.parametrize(
    "chosen", [{}, {"pillarenv": "dev"}, {"saltenv": "dev"}, {"pillarenv": "dev", "saltenv": "dev"}]
)
def test_a_minion_does_not_choose_the_pillar_environment_that_decides_on_sensitive_outputs(
    deployed: Cluster, chosen: dict[str, str]
) -> None:
    """At the minion's own shell. In `dev` its pillar has what the target asks for; the master's word is in `base`."""
    words = [f"{name}={value}" for name, value in chosen.items()]
    tree = deployed.call("pillar.items", *UNMASKED, *words).tree["local"]
    assert ("vault" in tree) == ("pillarenv" in chosen)  # its own pillar is of that environment
    assert set(tree["terraform"]["pillar"]) == {"base"}
    assert "hush-hush-vault" not in str(tree)


def test_a_broken_state_does_not_break_a_pillar(deployed: Cluster) -> None:
    state = deployed.layout.states("pillar", "base") / "terraform.tfstate"
    good = state.read_bytes()
    state.write_bytes(good[:100])
    try:
        tree = pillar_of(deployed, "web-7")
    finally:
        state.write_bytes(good)
    assert tree["terraform"]["pillar"]["base"]["name"] == "base"
    assert "malformed" in tree["terraform"]["_status"]["pillar"]["base"]["problem"]
    assert "_errors" not in tree
