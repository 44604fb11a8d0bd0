"""workspace.modules and interface: modules found, read without terraform, and kept by content."""

from __future__ import annotations

import itertools
import json

import pytest

from saltform.errors import ModuleError
from saltform.workspace import interface
from saltform.workspace.modules import Modules, calls_unkept, files_of

MAIN = """
variable "name" { type = string }
variable "size" {
  type    = number
  default = null
}
variable "token" {
  type      = string
  sensitive = true
  ephemeral = true
}
output "id" {
  value = <<-EOT
    } output "not_one" {
  EOT
}
output "password" {
  value     = var.token # output "neither" {}
  sensitive = true
}
"""


def write(folder, text=MAIN, name="main.tf"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder


@pytest.fixture
def modules(tmp_path):
    def never(reference):
        raise AssertionError(reference)

    return Modules(tmp_path / "store", (tmp_path / "modules",), never, never)


def test_variables_and_outputs_are_read_from_the_files(tmp_path):
    face = interface.read(write(tmp_path / "m"))
    assert {name: item.required for name, item in face.variables.items()} == {
        "name": True,
        "size": False,
        "token": True,
    }
    assert face.variables["token"].ephemeral
    assert {name: item.sensitive for name, item in face.outputs.items()} == {"id": False, "password": True}


def test_json_files_are_read_too(tmp_path):
    text = '{"variable": {"a": {}, "b": {"default": 1}}, "output": {"c": {"value": 1, "sensitive": true}}}'
    face = interface.read(write(tmp_path / "m", text, "main.tf.json"))
    assert face.variables["a"].required
    assert not face.variables["b"].required
    assert face.outputs["c"].sensitive


def test_the_sources_of_required_providers_are_read(tmp_path):
    (tmp_path / "versions.tf").write_text(
        'terraform {\n  required_version = ">= 1.6"\n  required_providers {\n'
        '    aws = {\n      version = ">= 3.39" # source = "no"\n      source  = "hashicorp/aws"\n    }\n'
        '    null = { version = "3.2.0" }\n  }\n}\n'
    )
    grafana = {"grafana": {"source": "example.com/grafana/grafana"}, "old": "1.0"}
    (tmp_path / "more.tf.json").write_text(json.dumps({"terraform": [{"required_providers": grafana}]}))
    face = interface.read(tmp_path)
    assert face.providers == {"aws": "hashicorp/aws", "grafana": "example.com/grafana/grafana"}
    assert interface.Interface.parse(face.dump()) == face


def test_a_kept_interface_is_read_back_as_it_was(tmp_path):
    face = interface.read(write(tmp_path / "m", MAIN + 'module "x" { source = "../y" }'))
    assert interface.Interface.parse(face.dump()) == face
    assert face.local_sources == ("../y",)


def test_what_a_module_calls_from_elsewhere_is_read_also_through_local_calls(tmp_path, modules):
    write(tmp_path / "modules" / "y", 'module "z" { source = "hashicorp/consul/aws" }')
    folder = write(
        tmp_path / "modules" / "m", 'module "x" { source = "../y" }\nmodule "g" { source = "git::ssh://h/r" }'
    )
    write(folder, '{"module": {"j": {"source": "https://h/m.zip"}}}', "more.tf.json")
    module = modules.resolve("m")
    assert module.interface.remote_sources == ("git::ssh://h/r", "hashicorp/consul/aws", "https://h/m.zip")
    assert module.unkept
    again = modules.kept(module.digest, module.entry)
    assert not again.unkept, "what a release was made of is never made of something else"
    assert calls_unkept(again)
    write(tmp_path / "modules" / "plain")
    assert not modules.resolve("plain").unkept


@pytest.mark.parametrize("text", ['variable "a" {', 'output "x" { value = }\n}'])
def test_a_file_that_is_no_hcl_names_file_and_line(tmp_path, text):
    with pytest.raises(ModuleError, match="line 1"):
        interface.read(write(tmp_path / "m", text))


def test_a_folder_without_terraform_code_is_no_module(tmp_path):
    with pytest.raises(ModuleError, match="holds no .tf file"):
        interface.read(write(tmp_path / "m", "x", "README.md"))


def test_a_missing_module_says_where_it_looked_and_what_was_meant(tmp_path, modules):
    write(tmp_path / "modules" / "networking")
    with pytest.raises(ModuleError, match="no module 'netwroking'") as caught:
        modules.resolve("netwroking")
    assert str(tmp_path / "modules") in caught.value.detail
    assert "'networking'" in caught.value.detail


@pytest.mark.parametrize("reference", ["../outside", "/etc", "a/../../b", ""])
def test_a_path_is_not_a_module_name(modules, reference):
    with pytest.raises(ModuleError):
        modules.resolve(reference)


def test_content_is_kept_and_found_again_after_the_files_are_gone(tmp_path, modules):
    folder = write(tmp_path / "modules" / "web")
    module = modules.resolve("web")
    (folder / "main.tf").unlink()
    again = modules.kept(module.digest, module.entry)
    assert (again.tree / "main.tf").read_text() == MAIN
    assert again.interface == module.interface


def test_the_digest_follows_content_and_name_and_nothing_else(tmp_path):
    def digest(number, text=MAIN, name="main.tf", extra=()):
        home = tmp_path / str(number)
        folder = write(home / "modules" / "web", text, name)
        for path in extra:
            write(folder / path, "noise", "x")
        return Modules(home / "store", (home / "modules",), None, None).resolve("web").digest

    assert digest(1) == digest(2)
    assert digest(3, MAIN + "\n") != digest(1)
    assert digest(4, name="other.tf") != digest(1)
    assert digest(5, extra=[".terraform", ".git"]) == digest(1)


def test_local_modules_outside_the_folder_belong_to_its_content(tmp_path, modules):
    write(tmp_path / "modules" / "web", MAIN + 'module "tags" { source = "../shared/tags" }')
    write(tmp_path / "modules" / "shared" / "tags", 'output "x" { value = 1 }')
    module = modules.resolve("web")
    assert module.entry == "web"
    assert (module.tree / "shared" / "tags" / "main.tf").exists()
    write(tmp_path / "modules" / "shared" / "tags", 'output "x" { value = 2 }')
    other = Modules(tmp_path / "store", (tmp_path / "modules",), None, None).resolve("web")
    assert other.digest != module.digest


def test_a_local_module_that_is_not_there_is_named(tmp_path, modules):
    write(tmp_path / "modules" / "web", MAIN + 'module "tags" { source = "../gone" }')
    with pytest.raises(ModuleError, match="calls one that isn't there"):
        modules.resolve("web")


def test_a_damaged_store_says_which_release_is_lost(tmp_path, modules):
    with pytest.raises(ModuleError, match="not in the store"):
        modules.kept("0" * 64, ".")


def test_what_an_editor_leaves_beside_a_file_is_no_part_of_the_module(tmp_path, modules):
    folder = write(tmp_path / "modules" / "m")
    before = modules.resolve("m").digest
    (folder / ".#main.tf").symlink_to("ada@host.4711")
    write(folder, 'variable "old" {}', "main.tf~")
    write(folder, "not { HCL", "#main.tf#")
    again = Modules(tmp_path / "store", (tmp_path / "modules",), modules.resolve, modules.resolve)
    assert again.resolve("m").digest == before


def test_a_file_that_cannot_be_read_is_named(tmp_path, modules):
    folder = write(tmp_path / "modules" / "m")
    (folder / "policy.json").symlink_to("nowhere")
    with pytest.raises(ModuleError, match="policy.json") as caught:
        modules.resolve("m")
    assert caught.value.fix


def test_links_that_lead_back_to_where_they_are_end(tmp_path, modules):
    """Examples often link the module that they are in: two of them would be followed for ever."""
    folder = write(tmp_path / "modules" / "m")
    for name in ("one", "two"):
        example = write(folder / "examples" / name, "# an example\n")
        (example / "module").symlink_to("../..")
    found = list(itertools.islice(files_of([folder]), 20))
    assert [str(path.relative_to(folder)) for path in found] == [
        "main.tf",
        "examples/one/main.tf",
        "examples/two/main.tf",
    ]
    assert modules.resolve("m").interface.variables
