"""A promotion asks the minions of the environment that it comes from, through a live master."""

from __future__ import annotations

from tests.support.cluster import HOME


def test_health_is_asked_of_real_minions(cluster):
    assert cluster.runner("deploy", "proving").exit_code == 0
    refused = cluster.runner("promote", "proving", "proved")
    assert refused.exit_code == 1
    assert refused.tree["error"]["type"] == "NotReady"
    assert f"test.false is not true on {HOME}" in refused.tree["error"]["detail"]
    assert cluster.runner("deploy", "well").exit_code == 0
    promoted = cluster.runner("promote", "well", "proved-well")
    assert promoted.exit_code == 0, promoted.stdout + promoted.stderr
    assert any("well" in gate["said"] for gate in promoted.tree["promotion"]["gates"] if gate["gate"] == "health")
