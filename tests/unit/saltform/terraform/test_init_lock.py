"""Who may be at the plugin cache at the same time."""

from __future__ import annotations

import fcntl
import threading

import pytest

from saltform.errors import WorkspaceError
from saltform.process.scripted import Answer, ScriptedProcesses
from saltform.terraform import init
from saltform.terraform.binary import Binary
from saltform.terraform.session import Session

LOCK_FILE = """\
# This file is maintained automatically by "terraform init".

provider "registry.terraform.io/hashicorp/aws" {
  version     = "3.39.0"
  constraints = ">= 3.0.0"
  hashes = [
    "h1:goOMfGE4SjLps+hpxJFEM/pZFiNgvi6BMG8/w86+f6k=",
  ]
}

provider "registry.terraform.io/hashicorp/null" {
  version = "3.2.0"
}
"""


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache/plugins"


@pytest.fixture
def allowed(tmp_path, cache):
    """Runs init, and says what others may do with the cache in the meantime."""
    found = []

    def look(call):
        for name, kind in (("link", fcntl.LOCK_SH), ("install", fcntl.LOCK_EX)):
            with (cache.parent / "plugins.lock").open() as other:
                try:
                    fcntl.flock(other, kind | fcntl.LOCK_NB)
                    found.append(name)
                except BlockingIOError:
                    pass
        return Answer()

    def run(**options):
        binary = Binary(("tf",), "terraform", "1.11.4")
        log = [].append
        session = Session(binary, tmp_path, {}, ScriptedProcesses(look), log, threading.Event(), "net")
        init.run(session, plugin_cache=cache, **options)
        return found

    return run


def test_a_first_init_is_alone(allowed):
    assert allowed() == []


def test_who_only_links_is_not_alone_but_nobody_may_install(allowed, tmp_path, cache):
    (tmp_path / ".terraform.lock.hcl").write_text(LOCK_FILE)
    for provider in ("aws/3.39.0", "null/3.2.0"):
        (cache / "registry.terraform.io/hashicorp" / provider).mkdir(parents=True)
    assert allowed() == ["link"]


def test_one_provider_that_is_missing_makes_it_alone(allowed, tmp_path, cache):
    (tmp_path / ".terraform.lock.hcl").write_text(LOCK_FILE)
    (cache / "registry.terraform.io/hashicorp/aws/3.39.0").mkdir(parents=True)
    assert allowed() == []


def test_an_upgrade_is_alone(allowed, tmp_path, cache):
    (tmp_path / ".terraform.lock.hcl").write_text("")
    assert allowed(upgrade=True) == []


def test_the_cache_goes_before_the_lock_file_only_where_no_lock_file_can_say(tmp_path, cache):
    processes = ScriptedProcesses(lambda call: Answer())
    session = Session(
        Binary(("tf",), "terraform", "1.11.4"), tmp_path, {}, processes, [].append, threading.Event(), "net"
    )
    init.run(session, plugin_cache=cache)
    (tmp_path / ".terraform.lock.hcl").write_text(LOCK_FILE)
    init.run(session, plugin_cache=cache)
    init.run(session, plugin_cache=cache, upgrade=True)
    init.run(session)
    assert [init.CACHE_BEFORE_LOCK in call.env for call in processes.calls] == [True, False, True, False]


def test_a_cache_that_can_not_be_locked_is_said(allowed, cache):
    (cache.parent / "plugins.lock").mkdir(parents=True)
    with pytest.raises(WorkspaceError, match="plugins.lock: Is a directory"):
        allowed()


def test_locked_providers_are_read_from_a_lock_file():
    assert init.locked_providers(LOCK_FILE.encode()) == {
        "registry.terraform.io/hashicorp/aws": "3.39.0",
        "registry.terraform.io/hashicorp/null": "3.2.0",
    }
