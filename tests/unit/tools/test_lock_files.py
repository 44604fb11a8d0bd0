"""Every lock has all that setup.py asks for, by hash, and tells nobody where it came from."""

from __future__ import annotations

import re
from importlib.metadata import distribution

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.support.tools import load

setup_venv = load("setup_venv")
update_locks = load("update_locks")
ASKED = [Requirement(text) for text in distribution("saltform").requires or []]


@pytest.fixture(params=setup_venv.LINES)
def line(request):
    return request.param


@pytest.fixture
def lock(line):
    return setup_venv.lock_file(line).read_text()


def test_a_lock_has_a_version_that_fits_for_each_requirement_of_setup_py(lock):
    locked = update_locks.versions(lock)
    for asked in ASKED:
        found = locked.get(canonicalize_name(asked.name), "")
        fits = found and all(asked.specifier.contains(version, prereleases=True) for version in found.split())
        assert fits, f"{asked}: the lock has {found or 'none'}: make update"


def test_a_lock_has_a_final_release_of_its_own_salt_line(line, lock):
    version = Version(update_locks.versions(lock)["salt"])
    assert str(version.major) == line and not version.is_prerelease


def test_every_package_of_a_lock_has_hashes(lock):
    for block in re.split(r"^(?=\S)", lock, flags=re.MULTILINE):
        assert block.startswith("#") or not block or "--hash=sha256:" in block, block


def test_a_lock_names_no_index_and_no_folder(lock):
    assert not re.search(r"://|--(extra-)?index|--find-links|-f |@ file|(^|\s)/", lock)


def test_changes_tell_old_and_new_versions_and_what_came_or_went():
    before = "a==1 \\\nb==1\nc==1 ; python_version < '3.11'\nc==2\n"
    after = "a==2 \\\nc==1 ; python_version < '3.11'\nc==3\nd==1\n"
    told = [re.sub(" +", " ", line).strip() for line in update_locks.changes(before, after)]
    assert told == ["a 1 → 2", "b 1 → gone", "c 1 2 → 1 3", "d new → 1"]
