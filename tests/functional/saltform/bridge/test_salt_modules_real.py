"""Modules from `salt://`, through Salt's own file server."""

from __future__ import annotations

import pytest

from saltform.bridge.host import salt_fetcher
from saltform.errors import ModuleError


@pytest.fixture
def file_root(tmp_path):
    module = tmp_path / "roots" / "terraform" / "web"
    (module / "files").mkdir(parents=True)
    (module / "main.tf").write_text('output "version" { value = 1 }')
    (module / "files" / "motd").write_text("hello")
    return module.parent.parent


@pytest.fixture
def fetch(tmp_path, file_root):
    import salt.config

    given = {
        "root_dir": str(tmp_path),
        "id": "test_master",
        "cachedir": str(tmp_path / "cache" / "terraform" / "web"),  # a folder of the same name on the way
        "file_roots": {"base": [str(file_root)]},
    }
    opts = salt.config.apply_master_config(given) | {"__role": "master"}
    return salt_fetcher(opts)


def contents(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_is_fetched_as_it_is(fetch):
    assert contents(fetch("salt://terraform/web")) == {
        "main.tf": 'output "version" { value = 1 }',
        "files/motd": "hello",
    }


def test_a_file_that_has_gone_from_the_server_has_gone_from_the_module(fetch, file_root):
    extra = file_root / "terraform" / "web" / "extra.tf"
    extra.write_text('output "extra" { value = 1 }')
    assert "extra.tf" in contents(fetch("salt://terraform/web"))
    extra.unlink()
    (file_root / "terraform" / "web" / "main.tf").write_text('output "version" { value = 2 }')
    assert contents(fetch("salt://terraform/web")) == {
        "main.tf": 'output "version" { value = 2 }',
        "files/motd": "hello",
    }
    assert (file_root / "terraform" / "web" / "files" / "motd").exists()


def test_a_folder_that_is_not_there_is_named(fetch):
    with pytest.raises(ModuleError, match="salt://terraform/wbe"):
        fetch("salt://terraform/wbe")
