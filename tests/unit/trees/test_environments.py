"""terraform/environments: plain Terraform that says exactly what the pillar says."""

from __future__ import annotations

import re

import pytest

from saltform.config.load import load
from tests.support.terraform_files import ENVIRONMENTS, blocks

_REFERENCE = re.compile(r"\$\{module\.([a-z]+)\.([a-z_]+)\}")


@pytest.fixture(params=["staging", "production"])
def both(request, pillar):
    """The components of an environment as pillar has them, and as module calls of its root."""
    name = request.param
    return load(pillar, name).environments[name].components, blocks(ENVIRONMENTS / name, "module")


def references(call):
    """Variable → @component.output of everything that a module call takes from another one."""
    matches = {key: _REFERENCE.fullmatch(value) for key, value in call.items() if isinstance(value, str)}
    return {key: f"@{match[1]}.{match[2]}" for key, match in matches.items() if match}


def test_the_same_components_with_the_same_modules(both):
    components, calls = both
    expected = {name: f"../../modules/{component.module}" for name, component in components.items()}
    assert {name: call["source"] for name, call in calls.items()} == expected


def test_the_same_variables(both):
    components, calls = both
    for name, component in components.items():
        fixed = {key: value for key, value in calls[name].items() if key not in ("source", "depends_on")}
        for key in references(calls[name]):
            del fixed[key]
        assert fixed == dict(component.variables), name


def test_the_same_wiring(both):
    components, calls = both
    for name, component in components.items():
        assert references(calls[name]) == {item.variable: str(item) for item in component.inputs}, name


def test_the_same_order(both):
    components, calls = both
    for name, component in components.items():
        from_inputs = {item.component for item in component.inputs}
        waits = {item[len("${module.") : -1] for item in calls[name].get("depends_on", [])}
        assert waits | from_inputs == set(component.needs), name


def test_outputs_of_all_components_are_given(both):
    components, calls = both
    environment = components["networking"].environment
    [output] = blocks(ENVIRONMENTS / environment, "output").values()
    assert output["value"] == {name: f"${{module.{name}}}" for name in components}


def test_the_provider_is_the_one_of_the_pillar(both, pillar):
    environment = both[0]["networking"].environment
    provider = load(pillar).providers["hive"]
    variables = blocks(ENVIRONMENTS / environment, "variable")
    assert variables["endpoint"]["default"] == provider.endpoint
    assert variables["region"]["default"] == provider.region
