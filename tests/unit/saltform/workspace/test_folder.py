"""workspace.folder and fingerprint: private, identical for identical input, and noticed when anything changes."""

from __future__ import annotations

import dataclasses
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from saltform.config import Component, Input, Provider
from saltform.errors import WorkspaceError
from saltform.files import make_folder
from saltform.workspace import folder
from saltform.workspace.fingerprint import digest, fingerprint, private_key, release
from saltform.workspace.folder import Workspace, init_fingerprint
from saltform.workspace.initialised import once_for_all
from saltform.workspace.interface import Interface
from saltform.workspace.modules import Module
from saltform.workspace.root import Unknown, Value
from tests.support.disk_calls import disk_calls


@pytest.fixture
def module(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "main.tf").write_text("# hello")
    return Module("a" * 64, tree, ".", Interface({}, {}))


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path / "workspaces" / "staging" / "web", tmp_path / "states" / "staging" / "web")


def snapshot(folder: Path):
    return {
        str(path.relative_to(folder)): path.readlink() if path.is_symlink() else path.is_file() and path.read_bytes()
        for path in sorted(folder.rglob("*"))
    }


def test_the_folder_is_private_and_leads_to_the_state(workspace, module):
    workspace.render(b"{}", module, b"lock")
    assert stat.S_IMODE(workspace.path.stat().st_mode) == 0o700
    assert stat.S_IMODE(workspace.states.stat().st_mode) == 0o700
    assert (workspace.path / "state").readlink() == workspace.states
    assert (workspace.path / "module" / "main.tf").read_text() == "# hello"
    assert workspace.provider_lock() == b"lock"


def test_the_folder_stays_private_when_it_is_initialised_from_what_another_one_made(workspace, module, tmp_path):
    shared, made = tmp_path / "cache" / "shared", tmp_path / "made"
    make_folder(made)

    def init():
        (made / ".terraform").mkdir()
        (made / ".terraform.lock.hcl").write_text("lock")

    once_for_all(shared, made, init, share=True)
    shared.chmod(0o755)  # as earlier versions made it
    workspace.render(b"{}", module, b"")
    once_for_all(shared, workspace.path, lambda: pytest.fail("it is there already"), share=True)
    assert (workspace.path / ".terraform").is_dir()
    assert workspace.provider_lock() == b"lock"
    assert stat.S_IMODE(workspace.path.stat().st_mode) == 0o700


def test_rendering_again_changes_nothing(workspace, module):
    workspace.render(b"{}", module, b"lock")
    before, times = snapshot(workspace.path), (workspace.path / "main.tf.json").stat().st_mtime_ns
    workspace.render(b"{}", module, b"lock")
    assert snapshot(workspace.path) == before
    assert (workspace.path / "main.tf.json").stat().st_mtime_ns == times


def test_another_module_replaces_all_of_the_old_one(workspace, module, tmp_path):
    workspace.render(b"{}", module, b"")
    other = tmp_path / "other"
    other.mkdir()
    (other / "new.tf").write_text("")
    workspace.render(b"{}", dataclasses.replace(module, digest="b" * 64, tree=other), b"")
    assert [path.name for path in (workspace.path / "module").iterdir()] == ["new.tf"]


def test_a_file_in_the_way_is_one_clear_error(tmp_path, module):
    (tmp_path / "workspaces").write_text("a file")
    with pytest.raises(WorkspaceError, match="in the way"):
        Workspace(tmp_path / "workspaces" / "web", tmp_path / "states").render(b"{}", module, b"")


def test_init_counts_only_for_the_fingerprint_it_was_made_for(workspace, module):
    workspace.render(b"{}", module, b"")
    assert not workspace.initialised_for("x")
    (workspace.path / ".terraform").mkdir()
    workspace.mark_initialised("x")
    assert workspace.initialised_for("x")
    assert not workspace.initialised_for("y")
    workspace.forget_init()
    assert not workspace.initialised_for("x")


def test_init_depends_on_each_of_its_parts(module):
    parts = [b"root", module, b"lock", "terraform 1.11", b"cli"]
    base = init_fingerprint(*parts)
    changes = [b"x", dataclasses.replace(module, digest="c" * 64), b"x", "tofu 1.10", b"x"]
    for index, change in enumerate(changes):
        assert init_fingerprint(*[change if n == index else part for n, part in enumerate(parts)]) != base


WEB = Component(
    "staging",
    "web",
    "m",
    variables={"size": 1},
    inputs=(Input("vpc", "networking", "vpc_id"),),
    needs=("networking",),
    provider=Provider("hive", "hive", endpoint="https://127.0.0.1:1"),
)


def mark(module, component=WEB, inputs=None, secrets=None, lock=b"lock", binary="terraform 1.11.4"):
    made_of = digest(release(component, module, lock, binary))
    return fingerprint(
        made_of, component, {"vpc": Value("vpc-1")} if inputs is None else inputs, secrets or {}, b"key"
    )


def test_a_fingerprint_follows_everything_that_a_component_is_made_of(module):
    replace = dataclasses.replace
    base = mark(module)
    assert mark(module) == base
    others = [
        mark(module, replace(WEB, variables={"size": 2})),
        mark(module, replace(WEB, variables={"size": "1"})),
        mark(module, replace(WEB, variables={"size": True})),
        mark(module, replace(WEB, stateful=True)),
        mark(module, replace(WEB, provider=Provider("hive", "hive", endpoint="https://127.0.0.1:2"))),
        mark(module, inputs={"vpc": Value("vpc-2")}),
        mark(module, inputs={"vpc": Value("vpc-1", sensitive=True)}),
        mark(module, inputs={"vpc": Unknown("networking")}),
        mark(module, secrets={"psk": "v2"}),
        mark(module, lock=b"newer"),
        mark(module, binary="terraform 1.12.0"),
        mark(replace(module, digest="b" * 64)),
    ]
    assert len({base, *others}) == len(others) + 1


def test_timeouts_and_targets_are_no_part_of_a_fingerprint(module):
    assert mark(module, dataclasses.replace(WEB, targets="*", path="elsewhere")) == mark(module)


def test_a_release_holds_expressions_and_not_the_values_of_one_environment(module):
    made_of = release(WEB, module, b"", "terraform 1.11.4")
    assert made_of["inputs"] == {"vpc": "@networking.vpc_id"}
    assert "https://127.0.0.1" not in str(made_of)


def test_a_private_key_is_made_once_and_private(tmp_path):
    path = tmp_path / "state" / "key"
    assert private_key(path) == private_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_all_who_make_the_digest_key_at_once_get_the_same_one(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(private_key, [tmp_path / "key"] * 16))
    assert len(keys) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_module_copied_before_the_last_boot_is_copied_again(workspace, module, monkeypatch):
    """Its files were not synced: after a power cut they may be empty."""
    workspace.render(b"{}", module, b"")
    copied = workspace.path / "module" / "main.tf"
    copied.write_text("")
    monkeypatch.setattr(folder, "_boot", lambda: "another")
    workspace.render(b"{}", module, b"")
    assert copied.read_text() == "# hello"


def test_a_key_keeps_its_name_before_anything_is_encrypted_with_it(tmp_path):
    with disk_calls() as calls:
        private_key(tmp_path / "plans.key")
    assert calls[-2:] == [("name", tmp_path / "plans.key"), ("sync", tmp_path)]
