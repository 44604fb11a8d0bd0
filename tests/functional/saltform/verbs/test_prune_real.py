"""What nobody needs any more goes; what somebody can still go on with or back to stays."""

from __future__ import annotations

import os
import time

import pytest

from saltform.files import alone
from saltform.layout import Layout
from saltform.runlog import RunLog, flock
from saltform.workspace.git import lock_of
from tests.support.world import statuses

LONG_AGO = time.time() - 200 * 86400


def age(world) -> None:
    """Everything that is there happened long ago."""
    log = RunLog(Layout(world.state_dir).runlog)
    for column in ("started", "ended"):
        log._database.write(f"UPDATE runs SET {column} = '2020-01-01T00:00:00.000Z' WHERE {column} IS NOT NULL")
    log.close()
    for path in world.state_dir.rglob("*"):
        os.utime(path, (LONG_AGO, LONG_AGO), follow_symlinks=False)


def runs(world) -> list[str]:
    return sorted(run["verb"] for run in world.call("history", "staging", 100)["runs"])


@pytest.fixture
def old(world):
    """A deploy, a plan, a deploy that failed and can go on, and content that no release has; all long ago."""
    world.components = {"a": {"module": "base", "variables": {"name": "one"}}}
    assert world.deploy()["retcode"] == 0
    world.components["a"]["variables"]["name"] = "two"
    assert world.plan()["retcode"] == 2
    world.components["b"] = {"module": "shell", "variables": {"command": "test -e /nowhere"}}
    assert statuses(world.deploy())["b"] == "failed"
    (world.state_dir / "modules" / ("0" * 64) / "tree").mkdir(parents=True)
    (world.state_dir / "workspaces" / "staging" / "left.7").mkdir()
    age(world)
    return world


def test_what_is_old_goes_and_the_rest_works_as_before(old):
    before = sorted(old.state_dir.rglob("*"))
    would = old.call("prune", "90d", None, True)
    assert (would["retcode"], would["dry_run"]) == (2, True)
    assert sorted(old.state_dir.rglob("*")) == before and runs(old) == ["deploy", "deploy", "plan"]
    done = old.call("prune", "90d")
    assert done["retcode"] == 0, done
    assert done["removed"] == would["removed"]
    assert (done["removed"]["runs"], done["removed"]["modules"], done["removed"]["workspaces"]) == (1, 1, 3)
    assert any("can still go on" in note for note in done["notes"])
    assert runs(old) == ["deploy", "deploy"]
    assert not (old.state_dir / "modules" / ("0" * 64)).exists()
    old.module("shell", (old.home / "modules" / "shell" / "main.tf").read_text().replace("var.command }", '"true" }'))
    assert old.call("resume", None)["steps"]["b"]["status"] == "failed"  # with what it began with
    old.components["b"]["variables"]["command"] = "true"
    assert statuses(old.deploy())["b"] == "applied"
    assert old.call("audit", "staging", None, True)["retcode"] == 0
    assert "prune" in {entry["action"] for entry in old.call("audit", "staging")["entries"]}
    assert old.call("prune", "90d")["removed"]["runs"] == 0


def test_the_backup_of_a_state_that_was_moved_goes_with_the_runs_of_its_time(old):
    layout = Layout(old.state_dir)
    for run, moment in (("1", LONG_AGO), ("2", time.time())):
        path = layout.moved_state("staging", "a", run)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
        os.utime(path, (moment, moment))
    assert old.call("prune", "90d", None, True)["removed"]["backups"] == 1
    assert old.call("prune", "90d")["removed"]["backups"] == 1
    assert [path.name for path in old.state_dir.glob("moved-states/*/*/*")] == ["2.tfstate"]


def test_by_size_the_oldest_that_can_be_made_anew_goes_and_nobody_is_disturbed(old):
    with flock.hold(Layout(old.state_dir).component_lock("staging", "a"), {"run": "7"}, "a"):
        done = old.call("prune", "3650d", "1B")
    assert done["removed"]["runs"] == 0
    assert (old.state_dir / "workspaces" / "staging" / "a").is_dir()
    assert not (old.state_dir / "workspaces" / "staging" / "b").exists()
    assert not list((old.state_dir / "cache" / "init").glob("[0-9a-f]*/"))
    assert len(list((old.state_dir / "runs").glob("*/logs"))) == 1  # of the run that can go on
    old.components["b"]["variables"]["command"] = "true"
    assert statuses(old.deploy())["b"] == "applied"


@pytest.mark.parametrize("name", ["0123456789abcdef", f"0123456789abcdef-{'1' * 40}"])
def test_a_clone_that_git_is_at_work_on_stays_with_all_its_trees(old, name):
    """While git checks a commit out it has the clone's lock; the trees beside the clone are of that lock, too."""
    cache = old.state_dir / "cache" / "git"
    (cache / name).mkdir(parents=True)
    (cache / name / "main.tf").write_text("# larger than a byte")
    with alone(lock_of(cache / "0123456789abcdef")):
        old.call("prune", "3650d", "1B")
        assert (cache / name / "main.tf").exists()
    old.call("prune", "3650d", "1B")
    assert not (cache / name).exists()


@pytest.mark.parametrize(
    ("given", "named"),
    [(("",), "older_than"), ((None,), "older_than"), (("1h",), "older_than"), (("90d", "much"), "larger_than")],
)
def test_bad_input_is_refused(world, given, named):
    assert world.call("prune", *given)["error"]["summary"] == f"bad argument '{named}'"
