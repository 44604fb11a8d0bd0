"""Keys of an orchestration's pillar: an argument of the verb, one of the SLS itself, the master's own, or refused."""

from __future__ import annotations

import pytest

from saltform.bridge.orchestration import choose
from saltform.errors import SaltformError

ARGUMENTS = ["environment", "components", "dry_run", "yes"]
MASTERS_OWN = {"site": {"rooms": [1, {"floor": 2}]}, "component": "web", "components": {"hecate": {}}}


def chosen(**given):
    return choose("destroy", {**MASTERS_OWN, "environment": "lab", **given}, MASTERS_OWN, ARGUMENTS)


def test_arguments_are_passed_on_and_the_masters_own_keys_are_not_given():
    assert chosen() == {"environment": "lab"}
    assert chosen(dry_run=False, components=["a"]) == {"environment": "lab", "dry_run": False, "components": ["a"]}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"component": "three"}, "'component' is no argument of destroy. Did you mean 'components'?"),
        ({"site": {"rooms": []}}, "'site' is no argument of destroy."),
        ({"__jid__": "1"}, "'__jid__' is no argument of destroy."),
        ({"failhard": True, "dryrun": True}, "'failhard' is no argument of destroy. 'dryrun' is no argument"),
        ({"dryrun": True}, "Did you mean 'dry_run'?"),
        ({"environment": ""}, "no environment was named"),
        ({"environment": "", "enviroment": "lab"}, "Did you mean 'environment'?"),
        ({"own_keys": "ticket"}, "own_keys is no list"),
    ],
)
def test_any_other_key_is_refused(given, said):
    with pytest.raises(SaltformError) as caught:
        chosen(**given)
    assert said in str(caught.value)
    assert caught.value.fix


def test_keys_of_the_sls_are_its_own_business():
    options = choose(
        "destroy",
        {"environment": "lab", "target": "*", "ticket": 7, "own_keys": ["ticket"]},
        {},
        ARGUMENTS,
        own_keys=["target"],
    )
    assert options == {"environment": "lab"}
    with pytest.raises(SaltformError, match="Did you mean 'ticket'"):
        choose("destroy", {"environment": "lab", "tickt": 7, "own_keys": ["ticket"]}, {}, ARGUMENTS)


@pytest.mark.parametrize(("name", "value"), [("components", ["three"]), ("dry_run", True), ("components", "three")])
def test_an_argument_that_the_masters_own_pillar_has_too_is_refused_and_not_dropped(name, value):
    """Dropped, `components` would mean all of them, and a `dry_run` would be none."""
    pillar = {"environment": "lab", "yes": True, name: value}
    with pytest.raises(SaltformError, match=f"can't be told whether '{name}' was given"):
        choose("destroy", pillar, {name: value}, ARGUMENTS)
    assert choose("destroy", pillar, {name: "another"}, ARGUMENTS) == pillar
    assert choose("destroy", {**pillar, "own_keys": [name]}, {name: value}, ARGUMENTS) == {
        "environment": "lab",
        "yes": True,
    }
