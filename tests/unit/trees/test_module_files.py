"""terraform/modules: every module has the same five files, typed variables, and a README that tells the truth."""

from __future__ import annotations

import hcl2
import pytest

from tests.support.terraform_files import MODULE_NAMES, MODULES, PLAIN, blocks, tables

EXPECTED = "networking consul-cluster vault-cluster boundary-cluster hecate-proxy hera-framework offsite-backup"


def test_all_modules_are_there():
    assert set(EXPECTED.split()) <= set(MODULE_NAMES)


@pytest.mark.parametrize("name", MODULE_NAMES)
def test_a_module_has_the_files_that_people_look_for(name):
    files = {path.name for path in (MODULES / name).iterdir()}
    assert {"main.tf", "variables.tf", "outputs.tf", "versions.tf", "README.md"} <= files


@pytest.mark.parametrize("name", MODULE_NAMES)
def test_variables_are_typed_and_everything_is_described(name):
    for variable, body in blocks(MODULES / name, "variable").items():
        assert body.get("type") not in (None, "any"), variable
        assert body.get("description"), variable
    for output, body in blocks(MODULES / name, "output").items():
        assert body.get("description"), output


@pytest.mark.parametrize("name", MODULE_NAMES)
def test_the_readme_lists_variables_and_outputs_as_they_are(name):
    found = (MODULES / name / "README.md").read_text()
    assert tables(MODULES / name) in found, "run: python -m tests.support.terraform_files"


@pytest.mark.parametrize("name", MODULE_NAMES)
def test_the_readme_example_uses_what_the_module_has(name):
    readme = (MODULES / name / "README.md").read_text()
    example = readme.split("```hcl\n")[1].split("```")[0]
    given = {
        line.split(" = ")[0].strip() for line in example.splitlines() if line.startswith("  ") and line[2] != " "
    }
    given = {word for word in given if word.isidentifier()} - {"source"}
    variables = blocks(MODULES / name, "variable")
    assert given <= set(variables)
    assert {variable for variable, body in variables.items() if "default" not in body} <= given


@pytest.mark.parametrize("name", MODULE_NAMES)
def test_the_provider_is_named_with_its_registry_and_no_upper_bound(name):
    required = terraform_settings(name)["required_providers"]
    assert required == [{"aws": {"source": "registry.terraform.io/hashicorp/aws", "version": ">= 3.39"}}]


def terraform_settings(name):
    with (MODULES / name / "versions.tf").open() as file:
        return hcl2.load(file, serialization_options=PLAIN)["terraform"][0]
