"""What came out of Terraform is pillar, for those it is meant for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.cluster import HOME, Cluster, wait_for
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
    wait_for(lambda: deployed.ask("pillar.get", "terraform:pillar:base:name", unmask=True)[0] == "base")
    outputs, _code = deployed.ask("pillar.get", "terraform:pillar:base", unmask=True)
    assert set(outputs) == {"id", "name", "password"}
    words = command(
        "docs/pillar.md", "salt 'web*'", **{"web*": HOME, "staging:networking:vpc_id": "pillar:base:name"}
    )
    assert deployed.run(*words, "--out=json").tree == {HOME: "base"}


@pytest.mark.parametrize(
    ("minion", "seen"),
    [(HOME, {"id", "name", "password"}), ("web-7", {"id", "name"}), ("vault-1", {"password"}), ("vault-10", None)],
)
def test_each_minion_sees_what_is_meant_for_it(deployed: Cluster, minion: str, seen: set[str] | None) -> None:
    tree = pillar_of(deployed, minion)
    found = tree.get("terraform", {}).get("pillar", {}).get("base")
    assert (set(found) if found else None) == seen
    assert ("hush-hush-base" in str(tree)) == bool(seen and "password" in seen)


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
