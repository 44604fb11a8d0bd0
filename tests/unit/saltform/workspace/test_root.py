"""workspace.root: the generated root is data, and values reach the module as they are written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltform.config import Component, CredentialSource, Provider
from saltform.workspace import root as roots
from saltform.workspace.interface import Interface, Output, Variable
from saltform.workspace.modules import Module
from saltform.workspace.root import Unknown, Value

FACE = Interface({"name": Variable(True)}, {"id": Output(), "password": Output(sensitive=True)})
MODULE = Module("d" * 64, Path("tree"), ".", FACE)


def component(**members):
    return Component(**({"environment": "staging", "name": "web", "module": "m"} | members))


def build(inputs=None, module=MODULE, leased=frozenset(), **members):
    return roots.build(component(**members), module, inputs or {}, {"saltform:component": "web"}, leased)


def test_every_output_of_the_module_is_an_output_of_the_root_with_its_sensitivity():
    assert build()["output"] == {
        "id": {"value": "${module.main.id}"},
        "password": {"value": "${module.main.password}", "sensitive": True},
    }


def test_templates_in_values_are_escaped_in_keys_and_depths():
    call = build(variables={"x": {"${k}": ["%{if}", {"y": "a${b}c"}]}})["module"]["main"]
    assert call["x"] == {"$${k}": ["%%{if}", {"y": "a$${b}c"}]}


def test_a_sensitive_input_is_in_the_environment_and_not_in_the_file():
    inputs = {"pw": Value({"k": "hunter2-${x}"}, sensitive=True)}
    root = build(inputs)
    assert "hunter2" not in roots.encode(root).decode()
    assert root["variable"] == {"input_pw": {"type": "any", "sensitive": True}}
    assert root["module"]["main"]["pw"] == "${var.input_pw}"
    assert roots.sensitive_environment(inputs) == {"TF_VAR_input_pw": '{"k": "hunter2-$${x}"}'}


def test_a_sensitive_value_has_no_repr():
    assert "hunter2" not in repr(Value("hunter2", sensitive=True))


def test_an_unknown_input_is_a_placeholder_that_terraform_plans_as_unknown():
    root = build({"vpc_id": Unknown("networking")})
    assert root["resource"] == {"terraform_data": {"pending_vpc_id": {}}}
    assert root["module"]["main"]["vpc_id"] == "${jsondecode(terraform_data.pending_vpc_id.id)}"


def test_secret_variables_are_declared_and_leased_ones_are_ephemeral():
    secrets = {"psk": CredentialSource("vault"), "token": CredentialSource("vault")}
    variables = build(secret_variables=secrets, leased=frozenset({"token"}))["variable"]
    assert variables["psk"] == {"type": "string", "sensitive": True}
    assert variables["token"]["ephemeral"] is True


def test_the_provider_is_written_with_its_registry_host_and_default_tags():
    hive = Provider("hive", "hive", endpoint="https://127.0.0.1:9999", region="ap-southeast-2", version="3.39.0")
    root = build(provider=hive)
    wanted = root["terraform"]["required_providers"]["aws"]
    assert wanted == {"source": "registry.terraform.io/hashicorp/aws", "version": "3.39.0"}
    block = root["provider"]["aws"]
    assert block["endpoints"]["ec2"] == "https://127.0.0.1:9999"
    assert block["default_tags"] == {"tags": {"saltform:component": "web"}}


@pytest.mark.parametrize(
    ("of_pillar", "of_module", "meant"),
    [
        ("", "", "registry.opentofu.org/hashicorp/aws"),
        ("", "hashicorp/aws", "registry.opentofu.org/hashicorp/aws"),
        ("", "registry.terraform.io/hashicorp/aws", "registry.terraform.io/hashicorp/aws"),
        ("", "example.com/fork/aws", "example.com/fork/aws"),
        ("fork/aws", "hashicorp/aws", "registry.opentofu.org/fork/aws"),
        ("aws", "", "registry.opentofu.org/hashicorp/aws"),
    ],
)
def test_the_provider_is_the_one_that_the_module_means_with_this_binary(of_pillar, of_module, meant):
    """Otherwise the module has a provider of its own, which nobody configures."""
    face = Interface({}, {}, providers={"aws": of_module} if of_module else {})
    module = Module("d" * 64, Path("tree"), ".", face)
    hive = component(provider=Provider("hive", "hive", source=of_pillar))
    root = roots.build(hive, module, {}, {}, registry="registry.opentofu.org")
    assert root["terraform"]["required_providers"]["aws"]["source"] == meant


def test_a_component_without_a_provider_has_no_provider_block():
    assert "provider" not in build()
    assert "required_providers" not in build()["terraform"]


def test_adopted_resources_are_import_blocks_in_the_root():
    imports = build(adopt={"aws_vpc.this": "vpc-1", "module.main.aws_subnet.a": "subnet-${1}"})["import"]
    assert imports == [
        {"to": "module.main.aws_vpc.this", "id": "vpc-1"},
        {"to": "module.main.aws_subnet.a", "id": "subnet-$${1}"},
    ]


def test_a_module_below_the_root_of_its_content_is_called_there():
    module = Module("d" * 64, Path("tree"), "consul", FACE)
    assert build(module=module)["module"]["main"]["source"] == "./module/consul"


@pytest.mark.parametrize("address", ["aws_vpc.this", "module.inner.aws_vpc.this[0]", 'aws_vpc.this["a"]'])
def test_addresses_go_into_the_root_and_back(address):
    assert roots.address_in_module(roots.address_in_root(address)) == address


def test_a_sensitive_input_has_only_escapes_that_hcl_knows():
    value = {"bell\b": ["feed\f", "written \\b and \\f", "tab\t"]}
    (text,) = roots.sensitive_environment({"x": roots.Value(value, sensitive=True)}).values()
    assert json.loads(text) == value
    assert "\\u0008" in text and "\\u000c" in text and "written \\\\b and" in text


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(values)
def test_the_same_input_is_the_same_bytes_and_valid_json(value):
    one = roots.encode(build(variables={"x": value, "y": 1}))
    two = roots.encode(build(variables={"y": 1, "x": value}))
    assert one == two
    assert json.loads(one)["module"]["main"]["y"] == 1


@given(st.text(alphabet="$%{}ab"))
def test_no_template_survives_in_a_literal(text):
    escaped = roots.literal(text)
    for opening in ("${", "%{"):
        # Each opening that is left must be preceded by its own doubling.
        at = escaped.find(opening)
        while at >= 0:
            assert at > 0
            assert escaped[at - 1] == opening[0]
            at = escaped.find(opening, at + 1)


@pytest.mark.parametrize(
    ("written", "in_state"),
    [
        ("aws_vpc.this", "module.main.aws_vpc.this"),
        ("module.main.aws_vpc.this", "module.main.aws_vpc.this"),
        ("module.main", "module.main"),
        ("module.mainframe.aws_vpc.this", "module.main.module.mainframe.aws_vpc.this"),
        ("module.main_db", "module.main.module.main_db"),
    ],
)
def test_an_address_is_taken_as_the_modules_author_writes_it(written, in_state):
    assert roots.address_in_root(written) == in_state
