"""The store keeps every release's module content for ever, and costs no more than what is distinct in it."""

from __future__ import annotations

import os

import pytest

from saltform.config.types import Component
from saltform.runlog import RunLog
from saltform.workspace.fingerprint import digest, release
from saltform.workspace.modules import Modules

COMPONENTS, RUNS, VERSIONS = 100, 50, 5
LARGE = "# " + "x" * 20_000 + "\n"


def never(reference):
    raise AssertionError(reference)


def on_disk(folder):
    """Bytes of all files below, each once however many names it has."""
    return sum({path.stat().st_ino: path.stat().st_size for path in folder.rglob("*") if path.is_file()}.values())


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A hundred components of two modules in fifty runs; every tenth run one file of one module changes."""
    tmp_path = tmp_path_factory.mktemp("kept")
    folder, runlog = tmp_path / "modules", RunLog(tmp_path / "runs.sqlite")
    distinct, digests, made = set(), set(), []
    for run in range(RUNS):
        for name in ("net", "app"):
            (folder / name).mkdir(parents=True, exist_ok=True)
            (folder / name / "shared.tf").write_text(LARGE)
        (folder / "net" / "main.tf").write_text(f'variable "name" {{}}\n# version {run * VERSIONS // RUNS}\n')
        (folder / "app" / "main.tf").write_text('variable "name" {}\n')
        distinct |= {path.read_bytes() for path in folder.rglob("*.tf")}
        modules = Modules(tmp_path / "store", (folder,), never, never)
        for number in range(COMPONENTS):
            module = modules.resolve("net" if number % 2 else "app")
            content = release(
                Component("staging", f"c{number}", "m", variables={"name": number}), module, b"", "terraform 1.15.5"
            )
            runlog.keep_release(digest(content), content, str(run))
            digests.add(digest(content))
        made.append(module)
    yield tmp_path / "store", runlog, distinct, digests, made
    runlog.close()


def test_a_hundred_components_in_fifty_runs_cost_no_more_than_what_is_distinct(kept):
    store, runlog, distinct, digests, _ = kept
    faces = list(store.rglob("interface.json"))
    assert len(faces) == VERSIONS + 1  # two modules, one of them in five versions
    assert on_disk(store) == sum(map(len, distinct)) + sum(path.stat().st_size for path in faces)
    assert len(digests) == COMPONENTS // 2 * (VERSIONS + 1)
    assert len(runlog.releases.starting_with("")) == len(digests)


def test_every_version_is_still_there_as_it_was(kept):
    store, runlog, _, digests, made = kept
    for name in digests:
        where = runlog.release(name)["module"]
        module = Modules(store, (), never, never).kept(where["digest"], where["entry"])
        assert (module.tree / "shared.tf").read_text() == LARGE
    first, last = (module.tree / "main.tf" for module in (made[0], made[-1]))
    assert (first.read_text(), last.read_text()) == (
        'variable "name" {}\n# version 0\n',
        f'variable "name" {{}}\n# version {VERSIONS - 1}\n',
    )


def test_a_file_that_can_be_run_is_another_one(tmp_path):
    folder = tmp_path / "modules" / "m"
    folder.mkdir(parents=True)
    (folder / "main.tf").write_text("")
    for name, mode in (("plain.sh", 0o644), ("run.sh", 0o755)):
        (folder / name).write_text("true")
        (folder / name).chmod(mode)
    tree = Modules(tmp_path / "store", (tmp_path / "modules",), never, never).resolve("m").tree
    assert not os.access(tree / "plain.sh", os.X_OK)
    assert os.access(tree / "run.sh", os.X_OK)


def test_without_links_there_are_copies(tmp_path, monkeypatch):
    folder = tmp_path / "modules" / "m"
    folder.mkdir(parents=True)
    (folder / "main.tf").write_text("# text")
    monkeypatch.setattr("pathlib.Path.hardlink_to", lambda *_: (_ for _ in ()).throw(OSError("no links here")))
    tree = Modules(tmp_path / "store", (tmp_path / "modules",), never, never).resolve("m").tree
    assert (tree / "main.tf").read_text() == "# text"


def test_every_folder_of_the_store_is_private(kept):
    store, *_ = kept
    assert {folder.stat().st_mode & 0o777 for folder in (store, *store.rglob("*")) if folder.is_dir()} == {0o700}
