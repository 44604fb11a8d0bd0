"""pillar/: seen by the master alone, right as the engine reads it, and true to the modules it names."""

from __future__ import annotations

import pytest

from saltform.config.load import load
from saltform.config.types import Component
from saltform.workspace import interface
from tests.support.salt_local import compile_pillar
from tests.support.terraform_files import MODULES

ENVIRONMENTS = ("staging", "production")
COMPONENTS = ("networking", "consul", "vault", "boundary", "hera", "hecate", "backups")


@pytest.fixture(scope="module")
def environments(pillar):
    return load(pillar).environments


def each_component(environments) -> list[Component]:
    return [component for environment in environments.values() for component in environment.components.values()]


def test_a_minion_sees_nothing_of_the_infrastructure(tmp_path):
    assert compile_pillar(tmp_path, "staging-vault-1") == {}


def test_the_engine_finds_no_problem_in_it(pillar):
    assert set(load(pillar).environments) == set(ENVIRONMENTS)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_environment_has_the_whole_stack(environments, name):
    assert set(environments[name].components) == set(COMPONENTS)


def test_environments_differ_in_size_and_not_in_shape(environments):
    staging, production = (environments[name].components for name in ENVIRONMENTS)
    for name in COMPONENTS:
        assert staging[name].module == production[name].module
        assert staging[name].inputs == production[name].inputs
        assert staging[name].needs == production[name].needs
        assert staging[name].stateful == production[name].stateful
        assert set(staging[name].variables) == set(production[name].variables)
    assert staging["networking"].variables["cidr"] != production["networking"].variables["cidr"]


def test_modules_have_the_variables_and_outputs_that_are_named(environments):
    faces = {
        name: interface.read(MODULES / component.module)
        for name, component in environments["staging"].components.items()
    }
    for component in each_component(environments):
        given = {*component.variables, *(item.variable for item in component.inputs)}
        assert given <= set(faces[component.name].variables), component.id
        required = {name for name, variable in faces[component.name].variables.items() if variable.required}
        assert required <= given, component.id
        for item in component.inputs:
            assert item.output in faces[item.component].outputs, f"{component.id}: {item}"


def test_what_holds_data_is_stateful_and_backups_come_last(environments):
    for environment in environments.values():
        assert [name for name, each in environment.components.items() if each.stateful] == ["vault"]
        assert set(environment.components["backups"].needs) == set(COMPONENTS) - {"backups"}


def test_outputs_go_to_hosts_of_the_same_environment_alone(environments):
    for component in each_component(environments):
        for word in component.targets.split():
            assert word in ("and", "or", "not") or word.startswith(f"{component.environment}-"), component.id


def test_the_masters_configuration_says_where_hive_and_vault_are(tmp_path):
    hive = {
        "endpoint": "https://127.0.0.1:1234",
        "ca": "/etc/hive/ca.pem",
        "region": "us-east-1",
        "version": "5.100.0",
    }
    vault = {"address": "http://127.0.0.1:8201", "auth": {"method": "token", "token": {"environment": "VAULT_TOKEN"}}}
    found = load(compile_pillar(tmp_path, "desk_master", infrastructure={"hive": hive, "vault": vault}))
    provider = found.providers["hive"]
    assert {name: getattr(provider, name) for name in hive} == hive
    assert found.vault == vault


def test_hosts_become_minions_of_the_master_that_says_where_it_is(tmp_path, environments):
    """All of them, under the names that their modules give them."""
    assert not any(component.minions for component in each_component(environments))
    found = load(compile_pillar(tmp_path, "desk_master", infrastructure={"salt_master": "salt.example.com"}))
    production = found.environments["production"].components
    assert production["consul"].minions == ("production-consul-1", "production-consul-2", "production-consul-3")
    assert production["boundary"].minions == (
        "production-boundary-controller-1",
        "production-boundary-controller-2",
        "production-boundary-worker-1",
        "production-boundary-worker-2",
    )
    for component in each_component(found.environments):
        hosts = sum(component.variables.get(name, 0) for name in ("node_count", "worker_count"))
        assert len(component.minions) == hosts, component.id
        if hosts:
            face = interface.read(MODULES / component.module)
            assert {"minions", "minion_tokens", *component.variables} <= set(face.variables)
            assert "minions" in face.outputs
            assert component.variables["salt_master"] == "salt.example.com"


def test_by_default_hive_is_on_this_machine_and_vault_logs_in_by_approle(pillar):
    found = load(pillar)
    assert found.providers["hive"].endpoint == "https://127.0.0.1:9999"
    assert found.vault["auth"]["method"] == "approle"
    assert [*found.vault["auth"]["secret_id"]] == ["file"]
