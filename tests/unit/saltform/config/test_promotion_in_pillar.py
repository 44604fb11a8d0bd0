"""`promoted_from:`: releases with what is the environment's own laid over them."""

from __future__ import annotations

import pytest

from saltform.config import load
from saltform.config.promotion import Release
from saltform.errors import ConfigError

CONTENT = {
    "module": {"reference": "network", "digest": "d" * 64, "entry": ""},
    "provider": "hive",
    "provider_lock": "",
    "binary": "terraform 1.15.5",
    "variables": {"name": "staging", "zones": 2, "node_count": 1},
    "secret_variables": [],
    "inputs": {"vpc": "@base.vpc"},
    "needs": ["base"],
    "stateful": True,
}
BASE = {**CONTENT, "inputs": {}, "needs": [], "stateful": False}


def loaded(production, releases=None, **rest):
    given = {"base": BASE, "web": CONTENT} if releases is None else releases
    tree = {
        "providers": {"hive": {"kind": "aws"}, "other": {"kind": "aws"}},
        "environments": {
            "staging": {"components": {"base": {"module": "network"}, "web": {"module": "network"}}},
            "production": {"promoted_from": "staging", **production},
        },
        **rest,
    }
    made_of = {name: Release(name * 16, content, "embedded") for name, content in given.items()}
    return load(
        {"infrastructure": tree}, "production", promoted=lambda *_: made_of, has_orphans=lambda _: True
    ).environment("production")


def problems(production, releases=None, **rest):
    with pytest.raises(ConfigError) as caught:
        loaded(production, releases, **rest)
    return {problem.path.removeprefix("infrastructure:"): problem for problem in caught.value.problems}


HERE = "environments:production:components"


def test_what_a_release_carries_comes_from_it_and_the_rest_from_the_environment():
    web = loaded({"components": {"web": {"timeouts": {"apply": "2h"}, "targets": "web*"}}}).components["web"]
    assert (web.module, web.provider.name, web.stateful, web.needs) == ("network", "hive", True, ("base",))
    assert web.variables == CONTENT["variables"]
    assert [str(item) for item in web.inputs] == ["@base.vpc"]
    assert (web.timeouts.apply, web.targets, web.binary) == (7200, "web*", "embedded")
    assert web.origin.release == "web" * 16


def test_its_own_wins_wherever_the_release_takes_it_from():
    own = {"variables": {"name": "production", "vpc": "vpc-1"}, "provider": "other", "binary": "tofu", "needs": []}
    web = loaded({"components": {"web": own}}).components["web"]
    assert web.variables == {"zones": 2, "node_count": 1, "name": "production", "vpc": "vpc-1"}
    assert (web.inputs, web.provider.name, web.binary) == ((), "other", "tofu")
    assert set(web.origin.own) == {"name", "vpc"}


def test_what_is_excluded_never_comes_with_a_release():
    production = {"promote": {"exclude": ["node_count"]}, "components": {"web": {"promote": {"exclude": "zones"}}}}
    environment = loaded(production)
    assert environment.components["web"].variables == {"name": "staging"}
    assert environment.components["base"].variables == {"name": "staging", "zones": 2}
    assert environment.components["web"].origin.exempt == ("node_count", "zones")


def test_a_component_of_its_own_has_a_module_of_its_own():
    own = {"audit": {"module": "audit", "needs": ["web"]}}
    environment = loaded({"components": own})
    assert environment.components["audit"].origin is None
    assert list(environment.components) == ["base", "web", "audit"]


def test_what_is_said_of_a_component_that_was_not_promoted_yet_waits_for_it():
    environment = loaded({"components": {"web": {"variables": {"name": "production"}}}}, {"base": BASE})
    assert list(environment.components) == ["base"]


def test_a_name_that_staging_does_not_have_is_a_problem():
    found = problems({"components": {"wbe": {"variables": {}}}})
    assert found[f"{HERE}:wbe"].nearest == "web"


def test_a_module_beside_a_release_is_a_problem():
    assert (
        "comes with the promoted release"
        in problems({"components": {"web": {"module": "x"}}})[f"{HERE}:web:module"].expected
    )


def test_secrets_do_not_travel():
    releases = {"base": BASE | {"secret_variables": ["password"]}}
    found = problems({}, releases)
    assert "a source of its own" in found[f"{HERE}:base:secret_variables:password"].expected
    source = {"components": {"base": {"secret_variables": {"password": {"pillar": {"path": "keys"}}}}}}
    assert "password" in loaded(source, releases).components["base"].secret_variables


def test_malformed_overrides_are_problems_with_their_path():
    found = problems({"components": {"web": "yes", "base": {"variables": ["name"]}}})
    assert {f"{HERE}:web", f"{HERE}:base:variables"} <= set(found)


@pytest.mark.parametrize(
    ("tree", "path"),
    [
        ({"promoted_from": "stagign"}, "promoted_from"),
        ({"promoted_from": "production"}, "promoted_from"),
        ({"promote": {"soak": "soon"}}, "promote:soak"),
        ({"promote": {"sok": "1h"}}, "promote:sok"),
        ({"health": {"targets": "*"}}, "health"),
        ({"health": {"function": "test.ping"}}, "health:targets"),
        ({"health": {"function": "a.b", "state": "c", "targets": "*"}}, "health"),
    ],
)
def test_mistakes_are_found_where_they_stand(tree, path):
    assert f"environments:production:{path}" in problems(tree)


def test_promote_without_promoted_from_is_refused():
    tree = {"environments": {"staging": {"promote": {"soak": "1h"}, "components": {"a": {"module": "m"}}}}}
    with pytest.raises(ConfigError) as caught:
        load({"infrastructure": tree})
    assert "promoted_from" in caught.value.problems[0].expected


def test_a_state_is_asked_for_by_applying_it():
    health = loaded({"health": {"state": "checks.ready", "targets": ["web1", "web2"]}}).health
    assert (health.function, health.arguments, health.targets) == ("state.apply", ("checks.ready",), ("web1", "web2"))


@pytest.mark.parametrize("soak", ["0s", 0, "0h0m"])
def test_a_soak_of_nothing_is_refused_with_what_to_do_instead(soak):
    tree = {"environments": {"production": {"promoted_from": "staging", "promote": {"soak": soak}}}}
    with pytest.raises(ConfigError) as caught:
        load({"infrastructure": tree})
    (problem,) = [each for each in caught.value.problems if each.path.endswith("promote:soak")]
    assert problem.expected == "a time above zero: leave `soak` out instead, or say one such as 30s, 5m, 1h or 2d"
