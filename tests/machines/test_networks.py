"""A plan becomes real namespaces, links, routes and rules; a change of the plan changes only what differs."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from machines import namespaces, nft
from machines.errors import RulesRefused
from machines.network import FORWARDING, End, Link, NamespacePlan, Neighbour, NetworkPlan, PolicyRule, Route
from machines.reconcile import Reconciler, device_names, opened

TABLE = [{"add": {"table": {"family": "inet", "name": "f"}}}]
WRONG = [{"add": {"rule": {"family": "inet", "table": "nowhere", "chain": "none", "expr": []}}}]


@pytest.fixture
def plan(host):
    """A router with a bridge, and somebody behind it."""
    router, guest = f"{host.prefix}-r", f"{host.prefix}-g"
    mac = "02:00:00:00:00:05"
    return NetworkPlan(
        {
            router: NamespacePlan(
                bridges={"br0": "02:00:00:00:00:09"},
                addresses=frozenset({("br0", "10.8.0.1/24")}),
                routes=frozenset(
                    {
                        Route("0.0.0.0/0", "br0", "10.8.0.5", table=77),
                        Route("10.2.0.0/16", kind="blackhole", table=77),
                        Route("10.8.0.0/16", kind="throw", table=77),
                    }
                ),
                rules=frozenset({PolicyRule(100, 77, "br0")}),
                neighbours=frozenset({Neighbour("br0", "10.8.0.5", mac)}),
                settings=FORWARDING,
                ruleset=json.dumps(TABLE),
            ),
            guest: NamespacePlan(
                addresses=frozenset({("eth0", "10.8.0.5/24")}),
                routes=frozenset({Route("0.0.0.0/0", "eth0", "10.8.0.1")}),
            ),
        },
        frozenset({Link(End(router, "p0", bridge="br0"), End(guest, "eth0", mac))}),
    )


def changed(plan, name, **how):
    part = plan.namespaces[name]
    return replace(plan, namespaces={**plan.namespaces, name: replace(part, **how)})


def addresses(namespace):
    with opened(namespace) as kernel:
        return {str(each.get("address")) for each in kernel._ip.get_addr(family=2)}


def test_a_plan_is_made_and_taken_over_and_removed(host, plan):
    router = f"{host.prefix}-r"
    Reconciler(host.prefix).apply(plan)
    before = addresses(router), len(nft.listed(router)), device_names(router)
    Reconciler(host.prefix).apply(plan)  # another process, as it were
    assert (addresses(router), len(nft.listed(router)), device_names(router)) == before
    assert before[2] == {"lo", "br0", "p0"}
    Reconciler(host.prefix).remove()
    assert namespaces.listed(host.prefix) == set()


def test_an_address_that_changes_takes_the_place_of_the_old_one(host, plan):
    guest, network = f"{host.prefix}-g", Reconciler(host.prefix)
    network.apply(plan)
    network.apply(changed(plan, guest, addresses=frozenset({("eth0", "10.8.0.6/24")})))
    assert addresses(guest) == {"127.0.0.1", "10.8.0.6"}


def test_rules_that_nftables_refuses_change_nothing(host, plan):
    router, network = f"{host.prefix}-r", Reconciler(host.prefix)
    network.apply(plan)
    before = nft.listed(router)
    with pytest.raises(RulesRefused, match=router):
        network.apply(changed(plan, router, ruleset=json.dumps(WRONG)))
    assert nft.listed(router) == before


def test_a_slow_link_is_slow_until_the_plan_says_otherwise(host, plan):
    guest, network = f"{host.prefix}-g", Reconciler(host.prefix)
    network.apply(changed(plan, guest, rates={"eth0": 1_000_000}))
    assert "tbf" in kinds(guest)
    network.apply(plan)
    assert "tbf" not in kinds(guest)


def kinds(namespace):
    with opened(namespace) as kernel:
        return {each.get("kind") for each in kernel._ip.get_qdiscs()}
