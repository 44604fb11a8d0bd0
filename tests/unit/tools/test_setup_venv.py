"""What can't be set up is refused in one sentence, before anything is installed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.tools import FOLDER, load

setup_venv = load("setup_venv")
GOOD = {"line": "3008", "python": (3, 11, 7), "system": "Linux", "machine": "x86_64", "libc": "glibc"}


@pytest.mark.parametrize("line", setup_venv.LINES)
@pytest.mark.parametrize("python", [(3, 10, 0), (3, 13, 9)])
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_line_is_taken_on_the_pythons_and_machines_of_its_lock(line, python, machine):
    assert setup_venv.refusal(**{**GOOD, "line": line, "python": python, "machine": machine}) == ""


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"line": "3005"}, "Salt 3005 is not supported: make … SALT=3006 or SALT=3007 or SALT=3008"),
        ({"python": (3, 9, 1)}, "requirements.lock is for Python 3.10 to 3.13, found 3.9: make … PYTHON=python3.13"),
        ({"python": (3, 14, 0), "line": "3006"}, "requirements-3006.lock is for Python 3.10 to 3.13, found 3.14"),
        ({"system": "Darwin", "machine": "arm64", "libc": ""}, "is for Linux with glibc on x86_64 and aarch64"),
        ({"libc": "musl"}, "and this is Linux x86_64 musl"),
        ({"machine": "riscv64"}, "and this is Linux riscv64 glibc"),
    ],
)
def test_what_the_locks_are_not_for_is_refused_in_one_sentence(given, sentence):
    said = setup_venv.refusal(**{**GOOD, **given})
    assert sentence in said and "\n" not in said


def test_make_says_the_sentence_and_installs_nothing():
    words = ["make", "--no-print-directory", "setup", "SALT=3005"]
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(words, cwd=FOLDER.parent, capture_output=True, text=True, env=alone)
    assert done.returncode == 2
    assert done.stderr.startswith("Salt 3005 is not supported")
    assert not (FOLDER.parent / ".venv-3005").exists()


def test_uv_is_installed_by_the_hash_that_the_lock_has_for_it(tmp_path: Path):
    lock = "uvloop==1 \\\n    --hash=sha256:aa\nuv==2 ; sys_platform == 'linux' \\\n    --hash=sha256:bb\nwheel==3\n"
    assert setup_venv.locked(lock, "uv") == "uv==2 ; sys_platform == 'linux' \\\n    --hash=sha256:bb\n"


def test_a_lock_without_uv_names_the_command_that_renews_it():
    with pytest.raises(SystemExit, match="uv is not in the lock: make update"):
        setup_venv.locked("uvloop==1\n", "uv")
