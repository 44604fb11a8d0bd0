"""A week of releases later: set-up installs what the lock says, and only `make update` takes what is new.

A loopback index plays the week: it has one version when the lock is made and a newer one afterwards.
"""

from __future__ import annotations

import functools
import hashlib
import http.server
import subprocess
import sys
import sysconfig
import threading
import venv
import zipfile
from pathlib import Path

import pytest

from tests.support.tools import load

setup_venv = load("setup_venv")
update_locks = load("update_locks")
UV = Path(sys.executable).with_name("uv")


def release(index: Path, version: str, text: str = "") -> Path:
    """Publish a package `weekly` of this version."""
    folder = index / "weekly"
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"weekly-{version}-py3-none-any.whl"
    info = f"weekly-{version}.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("weekly.py", f"version = {version!r}\n{text}")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: weekly\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    links = (f'<a href="{path.name}">{path.name}</a>' for path in sorted(folder.glob("*.whl")))
    (folder / "index.html").write_text("".join(links))
    return wheel


@pytest.fixture
def index(tmp_path, monkeypatch):
    folder = tmp_path / "index"
    folder.mkdir()
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    handler.log_message = lambda *_words: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("UV_NO_CACHE", "1")
        yield folder
        server.shutdown()


@pytest.fixture
def python(tmp_path):
    venv.create(tmp_path / "venv", symlinks=True)
    return tmp_path / "venv" / "bin" / "python"


def installed(python: Path) -> str:
    code = "import weekly; print(weekly.version)"
    return subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def lock_of(wheel: Path, folder: Path) -> Path:
    version = wheel.name.split("-")[1]
    lock = folder / "requirements.lock"
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    lock.write_text(f"weekly=={version} \\\n    --hash=sha256:{digest}\n")
    return lock


def test_a_newer_release_changes_nothing_until_the_lock_is_renewed(index, python, tmp_path):
    lock = lock_of(release(index, "1.0"), tmp_path)
    release(index, "1.1")
    setup_venv.sync(UV, python, lock)
    assert installed(python) == "1.0"

    words = [str(UV), "pip", "compile", *update_locks.RESOLVE, "--no-header", "--generate-hashes", "-"]
    renewed = update_locks.run(words, given="weekly")
    assert update_locks.changes(lock.read_text(), renewed) == [f"  {'weekly':<34} {'1.0':<24} → 1.1"]
    lock.write_text(renewed)
    setup_venv.sync(UV, python, lock)
    assert installed(python) == "1.1"


def test_a_release_that_was_replaced_under_its_version_is_refused(index, python, tmp_path):
    lock = lock_of(release(index, "1.0"), tmp_path)
    release(index, "1.0", text="import os  # somebody else's\n")
    with pytest.raises(subprocess.CalledProcessError):
        setup_venv.sync(UV, python, lock)


def test_what_the_lock_does_not_have_is_removed(index, python, tmp_path):
    lock = lock_of(release(index, "1.0"), tmp_path)
    stray = Path(sysconfig.get_path("purelib", vars={"base": str(python.parent.parent)})) / "stray-1.0.dist-info"
    stray.mkdir()
    (stray / "METADATA").write_text("Metadata-Version: 2.1\nName: stray\nVersion: 1.0\n")
    (stray / "RECORD").write_text("stray-1.0.dist-info/METADATA,,\nstray-1.0.dist-info/RECORD,,\n")
    setup_venv.sync(UV, python, lock)
    assert installed(python) == "1.0" and not stray.exists()
