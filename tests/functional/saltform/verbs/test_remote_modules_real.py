"""Modules that a module calls from git, with real Terraform and a real repository: fetched once, kept and digested
with the release, so that a promotion brings what was proved wherever the branch points by then."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from saltform.workspace import modules
from tests.support.world import World, statuses

CHILD = """
module "deep" { source = "../deep" }
resource "terraform_data" "this" { input = VERSION }
output "version" { value = terraform_data.this.output }
"""
CALLER = """
module "child" { source = "git::file://REPOSITORY//child?ref=main" }
variable "end" { default = "true" }
resource "terraform_data" "end" {
  triggers_replace = var.end
  provisioner "local-exec" { command = var.end }
}
output "version" { value = module.child.version }
"""


class Repository:
    """What the modules come from. It can move on, and go away."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "child").mkdir(parents=True)
        (folder / "deep").mkdir()
        (folder / "deep/main.tf").write_text('output "deep" { value = 1 }\n')
        self._git("init", "-q", "-b", "main")
        self.moves_to(1)

    def moves_to(self, version: int) -> None:
        (self.folder / "child/main.tf").write_text(CHILD.replace("VERSION", str(version)))
        self._git("add", ".")
        self._git("commit", "-q", "-m", f"version {version}")

    def goes_away(self) -> None:
        shutil.rmtree(self.folder)

    def _git(self, *words: str) -> None:
        who = {
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@b",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@b",
        }
        subprocess.run(["git", *words], cwd=self.folder, env={**os.environ, **who}, check=True)


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "repository")


@pytest.fixture(params=["auto", "embedded"])
def world(tmp_path, repository, request):
    world = World(tmp_path / "world", request.param)
    world.module("caller", CALLER.replace("REPOSITORY", str(repository.folder)))
    world.components = {"web": {"module": "caller"}}
    world.infrastructure["environments"] = {"production": {"promoted_from": "staging"}}
    return world


def inits(world):
    """The `init`s that were started: whether each was told to fetch nothing."""
    return ["-get=false" in argv for argv in world.processes.started if "init" in argv]


def version(world, environment="staging"):
    return world.call("outputs", environment, None)["outputs"]["web"]["version"]


def wipe(world):
    """What can be wiped at any time."""
    for name in ("workspaces", "cache"):
        shutil.rmtree(world.state_dir / name)


def promote(world):
    return world.call("promote", "staging", "production", {})


def test_a_promotion_brings_what_was_proved_after_the_branch_moved_and_the_source_went(world, repository):
    deployed = world.deploy()
    assert (deployed["retcode"], statuses(deployed), inits(world)) == (0, {"web": "applied"}, [False]), deployed
    repository.moves_to(2)
    wipe(world)
    repository.goes_away()
    promoted = promote(world)
    assert (promoted["retcode"], statuses(promoted), inits(world)) == (0, {"web": "applied"}, [True]), promoted
    assert version(world, "production") == 1
    proved = world.call("releases", "staging")["components"]["web"]["release"]
    told = world.call("releases", "production")["pillar"]
    assert told == {"infrastructure": {"releases": {"production": {"web": proved}}}}


def test_a_moved_branch_changes_the_digest_of_a_release_and_diff_shows_the_file(world, repository):
    world.deploy()
    promote(world)
    repository.moves_to(2)
    assert world.call("upgrade", "staging", None, None)["retcode"] == 0
    assert world.deploy()["retcode"] == 0
    assert version(world) == 2
    differs = world.call("diff", "staging", "production")["components"]["web"]
    assert differs["status"] == "differs"
    (entry,) = [item for item in differs["differences"] if item["what"] == "module"]
    assert entry["files"] == ["~ .terraform/modules/main.child/child/main.tf"]
    assert version(world, "production") == 1
    assert promote(world)["retcode"] == 0
    assert version(world, "production") == 2


def test_what_is_unchanged_starts_no_process_wherever_the_branch_points(world, repository):
    world.deploy()
    repository.moves_to(2)
    for _ in range(2):
        assert statuses(world.deploy()) == {"web": "unchanged"}
        assert world.processes.started == []
        repository.goes_away() if repository.folder.exists() else None


def test_modules_are_fetched_once_for_all_components_and_from_then_on_kept(world, repository):
    world.components = {"web": {"module": "caller"}, "app": {"module": "caller"}}
    assert set(statuses(world.deploy()).values()) == {"applied"}
    assert inits(world) == [False]
    repository.moves_to(2)
    wipe(world)
    world.components["late"] = {"module": "caller", "variables": {"end": "exit 0"}}
    assert statuses(world.deploy()) == {"web": "unchanged", "app": "unchanged", "late": "applied"}
    assert inits(world) == [True]
    assert world.call("outputs", "staging", None)["outputs"]["late"]["version"] == 1


def test_with_the_source_gone_and_the_workspace_wiped_all_verbs_still_work(world, repository):
    world.deploy()
    repository.goes_away()
    wipe(world)
    assert world.deploy(refresh=True)["retcode"] == 0
    assert world.call("preflight", "staging", None)["retcode"] == 0
    world.components["web"]["variables"] = {"end": "exit 0"}
    assert statuses(world.deploy()) == {"web": "applied"}
    assert world.destroy()["retcode"] == 0


def test_upgrade_fetches_anew_and_says_so_and_a_dry_run_changes_nothing(world, repository):
    world.deploy()
    assert statuses(world.call("upgrade", "staging", None, None)) == {"web": "unchanged"}
    repository.moves_to(2)
    would = world.call("upgrade", "staging", None, True)
    assert (would["retcode"], statuses(would)) == (2, {"web": "planned"})
    assert statuses(world.deploy()) == {"web": "unchanged"}
    done = world.call("upgrade", "staging", None, None)
    assert statuses(done) == {"web": "applied"}
    assert "child?ref=main" in done["steps"]["web"]["changes"][0]["address"]
    assert statuses(world.deploy()) == {"web": "applied"}
    assert version(world) == 2


def test_what_cannot_be_fetched_cannot_be_promoted(world, repository):
    repository.goes_away()
    deployed = world.deploy()
    assert (deployed["retcode"], statuses(deployed)) == (1, {"web": "failed"})
    assert "Could not download module" in deployed["steps"]["web"]["error"]["detail"]
    promoted = promote(world)
    assert promoted["retcode"] == 1
    assert "nothing to promote" in promoted["error"]["summary"]


def test_a_run_that_goes_on_keeps_them_too(world, repository):
    flag = world.home / "flag"
    world.components["web"]["variables"] = {"end": f"test -e {flag}"}
    failed = world.deploy()
    assert failed["retcode"] == 1
    flag.touch()
    repository.moves_to(2)
    wipe(world)
    resumed = world.call("resume", failed["run"])
    assert resumed["retcode"] == 0, resumed
    assert version(world) == 1
    repository.goes_away()
    assert promote(world)["retcode"] == 0


@pytest.fixture
def older(world, monkeypatch):
    """Staging, deployed by a version that kept only what is called by a path."""
    real = modules._with_local_calls

    def without_remote(folder):
        folders, face = real(folder)
        return folders, modules.dataclasses.replace(face, remote_sources=())

    with monkeypatch.context() as patched:
        patched.setattr(modules, "_with_local_calls", without_remote)
        assert world.deploy()["retcode"] == 0
    return world


def test_a_release_of_an_earlier_version_is_not_promoted_until_a_deploy_has_kept_what_it_really_uses(
    older, repository
):
    repository.goes_away()  # what the component uses is in its workspace still
    refused = promote(older)
    assert refused["retcode"] == 1
    assert (
        "modules: web was applied before the modules that it calls from elsewhere were kept"
        in (refused["error"]["detail"])
    )
    assert refused["error"]["fix"] == "salt-run infrastructure.deploy staging"
    deployed = older.deploy()
    assert (deployed["retcode"], inits(older)) == (0, []), deployed
    assert statuses(older.deploy()) == {"web": "unchanged"}
    wipe(older)
    assert promote(older)["retcode"] == 0
    assert version(older, "production") == 1


def test_an_older_release_can_still_be_destroyed(older, repository):
    older.components = {"other": {"module": "base", "variables": {"name": "x"}}}
    wipe(older)
    destroyed = older.call("destroy", "staging", {"yes": True, "components": "web"})
    assert destroyed["retcode"] == 0, destroyed


def test_a_token_in_a_modules_source_is_refused_and_not_shown(world):
    world.module("caller", 'module "child" { source = "git::https://t0kent0ken@127.0.0.1:1/x.git?ref=main" }\n')
    returned = world.deploy()
    assert returned["retcode"] == 1
    assert "password or token" in str(returned["error"])
    assert "t0ken" not in str(returned)
    assert world.processes.started == []
