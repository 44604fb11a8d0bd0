"""Everything that can't be made again in one file, and back: all of it or nothing."""

from __future__ import annotations

import gzip
import hashlib
import os
import random
import shutil
import signal
import stat
import time
from pathlib import Path

import pytest

from saltform.engine.services import Services
from saltform.features.requests.lists import keep_lists
from saltform.layout import Layout
from saltform.runlog import RunLog, RunRecord, flock
from saltform.verbs.backup import LEFT_OUT
from tests.support.postgres import postgres
from tests.support.world import World, statuses
from tests.support.zygote import zygote


@pytest.fixture
def deployed(world, tmp_path):
    world.components = {
        "networking": {"module": "base", "variables": {"name": "one"}, "targets": "web*"},
        "consul": {"module": "app", "inputs": {"base": "@networking.id"}},
    }
    assert world.deploy()["retcode"] == 0
    return world


def content(world) -> dict[str, str]:
    """What is worth a backup, file by file; the run log by its records."""
    files = {
        str(path.relative_to(world.state_dir)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in world.state_dir.rglob("*")
        if path.is_file()
        and path.relative_to(world.state_dir).parts[0] not in (*LEFT_OUT, "audit")
        and path.name not in ("alive", "cancel")
    }
    log = RunLog(Layout(world.state_dir).runlog)
    lines = [line for line in log.whole.lines() if not line.startswith((b'["audit', b'["lock'))]
    log.close()
    return files | {"(run log)": hashlib.sha256(b"".join(lines)).hexdigest()}


def test_what_was_deployed_since_is_gone_and_all_else_is_back(deployed, tmp_path):
    file = tmp_path / "backups" / "monday"
    file.parent.mkdir()
    made = deployed.call("backup", str(file))
    assert (made["retcode"], stat.S_IMODE(file.stat().st_mode)) == (0, 0o600), made
    assert list(file.parent.iterdir()) == [file]
    before = content(deployed)
    deployed.components["networking"]["variables"]["name"] = "two"
    assert statuses(deployed.deploy())["networking"] == "applied"
    refused = deployed.call("restore", str(file))
    assert refused["error"]["summary"] == "there is something to lose" and "overwrite=True" in refused["error"]["fix"]
    now = content(deployed)
    tried = deployed.call("restore", str(file), True, "True")
    assert (tried["retcode"], "would be restored" in tried["summary"], content(deployed)) == (2, True, now)
    returned = deployed.call("restore", str(file), True)
    assert returned["retcode"] == 0, returned
    assert content(deployed) == before
    (aside,) = deployed.home.glob("state.aside-*")
    assert any(str(aside) in note for note in returned["notes"])
    assert "two" in (aside / "states" / "staging" / "networking" / "terraform.tfstate").read_text()
    deployed.components["networking"]["variables"]["name"] = "one"
    assert set(statuses(deployed.deploy()).values()) == {"unchanged"}
    assert deployed.processes.started == []
    assert deployed.call("audit", "staging", None, True)["retcode"] == 0


def test_a_new_master_goes_on_from_a_backup(deployed, tmp_path):
    file = tmp_path / "backup"
    unstored = Path("workspaces/staging/consul/errored.tfstate")
    (deployed.state_dir / unstored).write_text("{}")
    deployed.call("backup", str(file))
    other = World(tmp_path / "other")
    other.components = deployed.components
    # As the runner leaves it whenever it has compiled the pillar, for this very call too: that is nothing to lose.
    keep_lists(Layout(other.state_dir), {"infrastructure": {"environments": {"a": {"requests": {"m": ["plan"]}}}}})
    assert other.call("restore", str(file))["retcode"] == 0
    assert (other.state_dir / unstored).read_text() == "{}"  # a state that could not be stored is known nowhere else
    (other.state_dir / unstored).unlink()
    assert set(statuses(other.deploy()).values()) == {"unchanged"}
    assert other.processes.started == []
    index = (other.state_dir / "index" / "staging.json").read_text()
    assert str(other.state_dir) in index and str(deployed.state_dir) + "/" not in index
    assert not list((tmp_path / "other").glob("state.aside-*"))


def test_nothing_is_saved_or_replaced_under_somebody_who_works(deployed, tmp_path):
    layout, file = Layout(deployed.state_dir), tmp_path / "backup"
    with flock.hold(layout.component_lock("staging", "consul"), {"run": "7"}, "consul"):
        assert deployed.call("backup", str(file))["retcode"] == 75
    assert not file.exists()
    assert deployed.call("backup", str(file))["retcode"] == 0
    before = content(deployed)
    run = deployed.call("show", "last")["run"]["id"]
    with flock.hold(layout.run(run) / "alive", {"run": run}, "the run"):
        assert deployed.call("restore", str(file), True)["retcode"] == 75
    assert content(deployed) == before


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "changed", "another"])
def test_a_damaged_backup_changes_nothing(deployed, tmp_path, damage):
    file = tmp_path / "backup"
    deployed.call("backup", str(file))
    before = content(deployed)
    whole = file.read_bytes()
    if damage == "missing":
        file.unlink()
    elif damage == "changed":
        inside = bytearray(gzip.decompress(whole))
        place = inside.index(b'"one"')
        inside[place : place + 5] = b'"two"'
        file.write_bytes(gzip.compress(bytes(inside)))
    else:
        file.write_bytes({"empty": b"", "cut": whole[: len(whole) // 2], "another": b"no backup" * 99}[damage])
    error = deployed.call("restore", str(file), True)["error"]
    assert error["summary"] in ("the backup can't be used", "there is no such backup")
    assert str(file) in error["detail"]
    assert content(deployed) == before
    assert not list(deployed.home.glob(".state.restoring-*"))


@pytest.mark.parametrize("given", ["", "backup", "../backup", "/"])
def test_bad_paths_are_refused(world, given):
    assert world.call("backup", given)["error"]["summary"] == "bad argument 'file'"


def test_a_killed_restore_is_all_or_nothing(deployed, tmp_path):
    for number in range(60):
        folder = deployed.state_dir / "modules" / f"{number:064d}" / "tree"
        folder.mkdir(parents=True)
        (folder / "main.tf").write_text(f"# {number}\n" * 2000)
    file = tmp_path / "backup"
    deployed.call("backup", str(file))
    new = content(deployed)
    deployed.components["networking"]["variables"]["name"] = "two"
    deployed.deploy()
    old, chance, outcomes = content(deployed), random.Random(6), []
    kept = tmp_path / "kept"
    shutil.copytree(deployed.state_dir, kept, symlinks=True)
    length = 0.2
    with zygote() as starter:
        for number in range(12):
            began = time.monotonic()
            runner = starter.start(deployed, "restore", {"file": str(file), "overwrite": True})
            until = began + (
                chance.uniform(0, 0.8) * length if number else 60
            )  # the first one shows how long it takes
            while runner.alive() and time.monotonic() < until:
                time.sleep(0.001)
            length = length if number else time.monotonic() - began
            try:
                os.kill(runner.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            runner.wait()
            found = content(deployed)
            assert found in (old, new)
            outcomes.append("new" if found == new else "old")
            shutil.rmtree(deployed.state_dir)
            shutil.copytree(kept, deployed.state_dir, symlinks=True)
    print(outcomes)
    assert deployed.call("restore", str(file), True)["retcode"] == 0
    assert content(deployed) == new
    assert not list(deployed.home.glob(".state.restoring-*"))


def test_a_run_log_in_postgresql_is_saved_and_brought_to_a_file(world, tmp_path):
    file = tmp_path / "backup"
    with postgres() as server:
        address = server.schema("log")
        given = world.services()
        services = Services(given.settings, {"infrastructure": {"runlog": address}}, author="ada")
        log = RunLog(address)
        first = RunRecord("1", "staging", "deploy", "ada", {})
        log.begin(first)
        first.status = "done"  # one that runs, on whatever master, would be in the way
        log.end(first)
        lines = list(log.whole.lines())
        Path(world.state_dir, "modules").mkdir(parents=True)
        assert world.call("backup", str(file), services=services)["retcode"] == 0
        again = Services(given.settings, {"infrastructure": {"runlog": address}}, author="ada")
        assert world.call("restore", str(file), services=again)["error"]["summary"] == "there is something to lose"
        second = RunRecord("2", "staging", "deploy", "ada", {})
        log.begin(second)
        second.status = "done"
        log.end(second)
        again = Services(given.settings, {"infrastructure": {"runlog": address}}, author="ada")
        assert world.call("restore", str(file), True, services=again)["retcode"] == 0
        assert list(log.whole.lines()) == lines
        log.close()
    shutil.rmtree(world.state_dir)
    assert world.call("restore", str(file))["retcode"] == 0
    assert [run["id"] for run in world.call("history", "staging", 20)["runs"]] == ["1"]
