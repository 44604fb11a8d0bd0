"""What a module calls from elsewhere is kept beside it, and found again for each product."""

from __future__ import annotations

import shutil

import pytest

from saltform.errors import ModuleError
from saltform.workspace.modules import Modules, calls_unkept
from saltform.workspace.remote_modules import RemoteModules

MAIN = 'output "id" { value = 1 }'


def write(folder, text=MAIN, name="main.tf"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder


@pytest.fixture
def modules(tmp_path):
    return Modules(tmp_path / "store", (tmp_path / "modules",), None, None)


def test_remote_modules_are_kept_with_the_module_and_found_again(tmp_path, modules):
    write(tmp_path / "modules" / "m", 'module "g" { source = "git::ssh://h/r" }')
    alone = modules.resolve("m")
    fetched = write(tmp_path / "fetched", "{}", "modules.json")
    write(fetched / "main.g", MAIN)
    write(fetched / "main.g" / ".git", "not ours", "HEAD")
    remote = RemoteModules(modules, alone, "terraform")
    assert remote.kept() is alone
    both = remote.keep(fetched)
    assert both.digest != alone.digest
    assert sorted(str(path.relative_to(both.remote)) for path in both.remote.rglob("*") if path.is_file()) == [
        "main.g/main.tf",
        "modules.json",
    ]
    assert remote.kept() == both
    assert RemoteModules(modules, alone, "opentofu").kept() is alone, "it has a registry of its own"
    (fetched / "main.g/main.tf").write_text("")
    other = remote.keep(fetched, for_all=False)
    assert other.digest != both.digest
    assert remote.kept() == both
    assert not calls_unkept(both)
    shutil.rmtree(modules.store / both.digest)
    assert remote.kept() is alone, "a note that leads nowhere is none"


def test_a_folder_that_terraform_did_not_fill_is_not_kept(tmp_path, modules):
    write(tmp_path / "modules" / "m", 'module "g" { source = "git::ssh://h/r" }')
    with pytest.raises(ModuleError, match="left no list"):
        RemoteModules(modules, modules.resolve("m"), "terraform").keep(tmp_path / "nowhere")
