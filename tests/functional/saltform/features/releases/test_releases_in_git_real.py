"""The promoted releases as a file of a git pillar repository, with a real git."""

from __future__ import annotations

import dataclasses
import subprocess

import pytest
import yaml

from saltform.config.types import ReleasesFile
from tests.support.world import BASE, World, statuses

FILE = "infrastructure/releases.sls"


def git(folder, *words):
    who = {f"GIT_{role}_{key}": "a@b" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
    env = who | {"PATH": "/usr/bin:/bin:/usr/local/bin", "GIT_CONFIG_GLOBAL": "/dev/null"}
    done = subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True, text=True)
    return done.stdout.strip()


class GitWorld(World):
    """A world whose pillar has what the repository says."""

    def __init__(self, home):
        super().__init__(home)
        self.repository = home / "pillar"
        self.repository.mkdir()
        git(self.repository, "init", "-q", "-b", "main")
        (self.repository / "top.sls").write_text("base: {}\n")
        git(self.repository, "add", ".")
        git(self.repository, "commit", "-q", "-m", "first")
        self.branch = "main"

    def services(self, **given):
        path = self.repository / FILE
        if path.exists():
            self.infrastructure["releases"] = yaml.safe_load(path.read_text())["infrastructure"]["releases"]
        services = super().services(**given)
        where = ReleasesFile(self.repository, self.branch, FILE)
        services.settings = dataclasses.replace(services.settings, releases=where)
        return services

    def promoted(self):
        return self.call("releases", "production")["pillar"]["infrastructure"]["releases"]


@pytest.fixture
def world(tmp_path):
    made = GitWorld(tmp_path)
    made.components = {"networking": {"module": "base", "variables": {"name": "net"}}}
    production = {"promoted_from": "staging", "components": {"networking": {"variables": {"name": "production"}}}}
    made.infrastructure["environments"] = {"production": production}
    assert made.deploy()["retcode"] == 0
    return made


def test_what_is_promoted_or_rolled_back_is_committed_and_followed(world):
    (world.repository / "top.sls").write_text("somebody is at work here\n")
    returned = world.call("promote", "staging", "production", {})
    assert returned["retcode"] == 0, returned
    assert (
        yaml.safe_load(git(world.repository, "show", f"main:{FILE}"))["infrastructure"]["releases"]
        == world.promoted()
    )
    assert git(world.repository, "log", "-1", "--format=%an %s") == (
        f"ada Promoted releases of production (run {returned['run']})"
    )
    assert git(world.repository, "status", "--short") == "M top.sls"  # nobody's work is touched
    first, commits = world.promoted(), git(world.repository, "rev-list", "main")
    assert set(statuses(world.call("deploy", "production", {})).values()) == {"unchanged"}
    # What the file says is what is on record, so it is no pin that holds a promotion back.
    world.module("base", BASE.replace("input            = var.name", 'input            = "new ${var.name}"'))
    world.deploy()
    returned = world.call("promote", "staging", "production", {})
    assert statuses(returned) == {"networking": "applied"}
    assert git(world.repository, "rev-list", "main").splitlines()[1:] == commits.splitlines()
    assert world.promoted() != first
    assert world.call("rollback", "production", {})["retcode"] == 0
    assert yaml.safe_load((world.repository / FILE).read_text())["infrastructure"]["releases"] == first


def test_an_edit_of_the_file_that_is_not_committed_is_never_lost(world, monkeypatch):
    assert world.call("promote", "staging", "production", {})["retcode"] == 0
    path, kept, first = world.repository / FILE, (world.repository / FILE).read_text(), world.promoted()
    path.write_text(edited := f"{kept}# mine\n")
    world.module("base", BASE.replace("input            = var.name", 'input            = "new ${var.name}"'))
    world.deploy()
    refused = world.call("promote", "staging", "production", {})
    assert refused["error"]["summary"] == "the file of the promoted releases is being edited"
    assert (path.read_text(), world.promoted()) == (edited, first)
    # An edit that begins while it is promoted: what is promoted is committed, the edit stays, and the way out works.
    monkeypatch.setattr("saltform.verbs.promote.refuse_edited", lambda _: None)
    late = world.call("promote", "staging", "production", {})
    assert (late["retcode"], path.read_text()) == (1, edited)
    assert late["error"]["detail"].endswith("was left alone")
    assert yaml.safe_load(git(world.repository, "show", f"main:{FILE}"))["infrastructure"]["releases"] != first
    git(world.repository, "checkout", "HEAD", "--", FILE)
    assert set(statuses(world.call("deploy", "production", {})).values()) == {"unchanged"}
    path.write_text(edited)
    assert "being edited" in world.call("rollback", "production", {})["error"]["summary"]
    # As it was before the last commit: whoever committed was killed, and that is nobody's edit.
    path.write_text(kept)
    assert world.call("rollback", "production", {})["retcode"] == 0
    assert git(world.repository, "status", "--short") == ""


def test_a_bare_repository_and_another_branch_will_do(world):
    bare = world.home / "pillar.git"
    git(world.home, "clone", "-q", "--bare", str(world.repository), str(bare))
    git(bare, "branch", "releases", "main")
    world.repository, world.branch = bare, "releases"
    assert world.call("promote", "staging", "production", {})["retcode"] == 0
    assert git(bare, "show", f"releases:{FILE}").startswith("# Written by Saltform")
    assert git(bare, "ls-tree", "--name-only", "main") == "top.sls"


def test_what_can_not_be_committed_fails_the_run_and_says_so(world, monkeypatch):
    world.branch = "gone"
    refused = world.call("promote", "staging", "production", {})  # before anything is applied, where that is known
    assert (refused["error"]["summary"], "steps" in refused) == (
        "the promoted releases could not be committed",
        False,
    )
    monkeypatch.setattr("saltform.verbs.promote.refuse_edited", lambda _: None)
    returned = world.call("promote", "staging", "production", {})
    assert (returned["retcode"], statuses(returned)) == (1, {"networking": "applied"})
    assert returned["error"]["summary"] == "the promoted releases could not be committed"
    assert any("branch gone" in note for note in world.call("show", returned["run"])["notes"])
