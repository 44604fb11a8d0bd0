"""What docs/hive.md says works is run as it stands there, against an emulator with HTTPS and the embedded store."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hive_terraform import Workspace

from hive_emulator.testing import running_emulator

PAGE = Path(__file__).parents[3] / "docs" / "hive.md"


def blocks(language: str) -> list[str]:
    """The blocks of the page that are marked to be run."""
    return re.findall(rf"<!-- run -->\n```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home folder as a reader has it: the emulator on its default data folder, the commands on the PATH."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "bin").mkdir()
    for name, module in (("hive-emulator", "hive_emulator"), ("aws", "awscli")):
        command = folder / "bin" / name
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
        command.chmod(0o755)
    data = folder / ".hive-emulator"
    data.mkdir()
    with running_emulator(data, http=False, store="embedded") as hive:
        yield folder, hive


def run(home: Path, script: str) -> str:
    environment = {
        "HOME": str(home),
        "PATH": f"{home / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(PAGE.parents[1]),
        "AWS_PAGER": "",
    }
    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", script],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_the_shell_commands_of_the_page_work_one_after_the_other(home):
    folder, _ = home
    said = run(folder, "\n".join(blocks("sh")))
    assert '"Account": "000000000001"' in said
    assert '"ami-' in said
    assert "security-group" in said and "records loaded from lab.json" in said
    assert "InsufficientInstanceCapacity" in said and said.rstrip().endswith("[]")


def test_the_python_of_the_page_works_with_the_exports(home):
    folder, _ = home
    [exports] = blocks("sh")[:1]
    (folder / "page.py").write_text("\n".join(blocks("python")))
    run(folder, f'{exports}"{sys.executable}" page.py')


def test_the_terraform_of_the_page_works_with_the_exports(home, providers, tmp_path):
    folder, hive = home
    [config] = blocks("hcl")
    space = Workspace(hive, providers["packaged"], tmp_path)
    (tmp_path / "main.tf").write_text(config.replace("https://127.0.0.1:9999", hive.endpoint))
    space.init()
    space.apply()
    assert "debian-12" in space.outputs()["image"]
    space.destroy()
