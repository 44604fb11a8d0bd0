"""orchestrate.deploy with a target: minions see the new outputs, and their highstate can use them."""

from __future__ import annotations

import json

import pytest

from tests.support.cluster import HOME, Cluster

GREETING = """
greeting:
  file.managed:
    - name: {path}
    - contents: 'from {{{{ pillar["terraform"]["minions"]["base"]["name"] }}}}'
"""


@pytest.fixture
def greeted(cluster: Cluster) -> Cluster:
    """A highstate that can't be rendered before the outputs are in the minion's pillar."""
    cluster.write_sls("top", {"base": {HOME: ["greeting"]}})
    (cluster.sls / "greeting.sls").write_text(GREETING.format(path=cluster.folder / "greeting"))
    return cluster


def test_the_highstate_after_a_deploy_sees_what_was_deployed(greeted: Cluster) -> None:
    pillar = {"environment": "minions", "target": HOME, "highstate": True}
    words = ("state.orchestrate", "orchestrate.deploy", f"pillar={json.dumps(pillar)}", "--out=json")
    ended = greeted.run("salt-run", *words)
    assert ended.exit_code == 0, ended
    (results,) = ended.tree["data"].values()
    assert [item["__id__"] for item in results.values()] == ["deploy", "refresh pillar", "highstate"]
    assert (greeted.folder / "greeting").read_text() == "from base\n"
