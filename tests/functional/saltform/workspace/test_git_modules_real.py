"""Modules from git references, with a real git and a local repository."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from saltform.errors import ModuleError
from saltform.process import RealProcesses
from saltform.runlog import flock
from saltform.workspace.git import GitModules, lock_of
from saltform.workspace.modules import Modules


def git(folder, *words):
    env = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_CONFIG_GLOBAL": "/dev/null"}
    env |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com", "PATH": "/usr/bin:/bin:/usr/local/bin"}
    done = subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder, text):
    (folder / "modules" / "web").mkdir(parents=True, exist_ok=True)
    (folder / "modules" / "web" / "main.tf").write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "x")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    first = commit(folder, 'output "version" { value = 1 }')
    git(folder, "tag", "v1")
    second = commit(folder, 'output "version" { value = 2 }')
    return folder, first, second


def test_git_works_under_the_lock_that_prune_takes(repository, tmp_path):
    folder, first, _ = repository
    free = []

    class Watched(RealProcesses):
        def run(self, argv, **given):
            for clone in (tmp_path / "cache").glob("[0-9a-f]*.lock"):
                found = [lock_of(clone.with_suffix("")), lock_of(clone.with_name(f"{clone.stem}-{first}"))]
                free.extend(path for path in found if flock.holder_of(path) is None)
            return super().run(argv, **given)

    GitModules(tmp_path / "cache", Watched()).fetch(f"git::{folder}//modules/web?ref=v1")
    assert free == []


@pytest.fixture
def counted():
    class Counted(RealProcesses):
        commands: list = []

        def run(self, argv, **given):
            self.commands.append(argv[1])
            return super().run(argv, **given)

    return Counted()


@pytest.fixture
def modules(tmp_path, counted):
    Counted = type(counted)
    Counted.commands = []
    return lambda: Modules(tmp_path / "store", (), None, GitModules(tmp_path / "cache", counted).fetch)


def text_of(module):
    return (module.tree / "main.tf").read_text()


def reference(folder, ref="", sub="modules/web"):
    return f"git::file://{folder}//{sub}" + (f"?ref={ref}" if ref else "")


def test_tags_commits_and_branches_are_resolved(repository, modules):
    folder, first, second = repository
    assert "= 1" in text_of(modules().resolve(reference(folder, "v1")))
    assert "= 1" in text_of(modules().resolve(reference(folder, first)))
    assert "= 2" in text_of(modules().resolve(reference(folder, "main")))
    assert "= 2" in text_of(modules().resolve(reference(folder)))


def test_a_branch_that_moved_is_followed_and_a_commit_is_not(repository, modules):
    folder, _, second = repository
    before = modules().resolve(reference(folder, "main"))
    commit(folder, 'output "version" { value = 3 }')
    assert "= 3" in text_of(modules().resolve(reference(folder, "main")))
    assert modules().resolve(reference(folder, second)).digest == before.digest


def test_a_commit_that_is_here_already_needs_no_network(repository, modules, counted):
    folder, first, _ = repository
    modules().resolve(reference(folder, first))
    counted.commands.clear()
    modules().resolve(reference(folder, first))
    assert not {"clone", "fetch"} & set(counted.commands)


@pytest.mark.parametrize(
    ("ref", "sub", "said"),
    [
        ("no-such-ref", "modules/web", "can't resolve"),
        ("v1", "modules/gone", "no such folder"),
        ("v1", "../..", "no such"),
    ],
)
def test_what_is_not_there_is_one_clear_error(repository, modules, ref, sub, said):
    with pytest.raises(ModuleError, match=said):
        modules().resolve(reference(repository[0], ref, sub))


def test_a_repository_that_is_not_there(tmp_path, modules):
    with pytest.raises(ModuleError, match="can't resolve") as caught:
        modules().resolve(reference(tmp_path / "gone"))
    assert "may read the repository" in caught.value.fix


@pytest.mark.parametrize("bad", ["git::--upload-pack=touch /tmp/x", "git::", "git::x?ref=--exec"])
def test_a_reference_can_not_carry_options(modules, bad):
    with pytest.raises(ModuleError):
        modules().resolve(bad)


@pytest.mark.parametrize(
    "url",
    [
        "https://ghp_t0kent0ken@127.0.0.1:1/modules.git",
        "https://user:t0kent0ken@127.0.0.1:1/modules.git",
        "HTTP://t0kent0ken@127.0.0.1:1/modules.git",
        "https://user:with@t0kent0ken@127.0.0.1:1/modules.git",
        "ssh://git:t0kent0ken@127.0.0.1:1/modules.git",
    ],
)
def test_a_password_or_token_in_a_reference_is_refused_before_git_starts(modules, counted, url):
    with pytest.raises(ModuleError, match="password or token") as caught:
        modules().resolve(f"git::{url}//web?ref=main")
    assert "t0ken" not in str(caught.value) + caught.value.fix
    assert counted.commands == []


def test_a_users_name_for_ssh_is_no_password(modules):
    with pytest.raises(ModuleError, match="can't resolve"):
        modules().resolve("git::ssh://git@127.0.0.1:1/modules.git//web")


def test_a_transport_that_runs_a_command_is_refused_whatever_the_users_git_allows(modules, tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.gitconfig").write_text('[protocol "ext"]\n  allow = always\n')
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with pytest.raises(ModuleError, match="can't resolve") as caught:
        modules().resolve(f"git::ext::touch {tmp_path}/ran")
    assert "transport 'ext' not allowed" in caught.value.detail
    assert not (tmp_path / "ran").exists()


def test_runs_that_begin_at_once_share_a_clone(repository, tmp_path):
    folder, _, _ = repository
    fetch = GitModules(tmp_path / "cache", RealProcesses()).fetch
    references = [f"git::file://{folder}//modules/web?ref={ref}" for ref in ("main", "v1", "main", "v1")]
    with ThreadPoolExecutor(4) as pool:
        folders = list(pool.map(fetch, references))
    assert {(found / "main.tf").read_text() for found in folders[::2]} == {'output "version" { value = 2 }'}
    assert {(found / "main.tf").read_text() for found in folders[1::2]} == {'output "version" { value = 1 }'}


def test_a_git_that_was_killed_is_not_in_the_way_of_the_next(repository, tmp_path):
    folder, _, _ = repository
    fetch = GitModules(tmp_path / "cache", RealProcesses()).fetch
    fetch(f"git::file://{folder}//modules/web?ref=main")
    clone = next(path for path in (tmp_path / "cache").iterdir() if (path / "HEAD").exists())
    (clone / "index.lock").touch()
    found = fetch(f"git::file://{folder}//modules/web?ref=v1")
    assert (found / "main.tf").read_text() == 'output "version" { value = 1 }'
