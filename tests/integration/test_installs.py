"""The three ways to install, each in a Python of its own that has Salt and not this checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.cluster import MODULES, ROOT, TIMEOUT, data

FUNCTIONS = {"salt-call": "salt_call", "salt-run": "salt_run"}


class Install:
    """A Python, and a masterless Salt for it."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.python = folder / "venv" / "bin" / "python"
        self.site = Path(sysconfig.get_path("purelib", vars={"base": str(folder / "venv")}))
        venv.create(folder / "venv", with_pip=bool(settings.pop("with_pip", False)), symlinks=True)
        # Salt and the other libraries come from the Python of the tests: a line in a .pth file adds the folder, and
        # what is installed there as editable is not followed.
        (self.site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
        self._configure(settings)

    def _configure(self, settings: dict[str, Any]) -> None:
        folder = self.folder
        for name, text in MODULES.items():
            (folder / "modules" / name).mkdir(parents=True)
            (folder / "modules" / name / "main.tf").write_text(text)
        for name, tree in {
            "pillar/top.sls": {"base": {"*": ["infrastructure"]}},
            "pillar/infrastructure.sls": {
                "infrastructure": {"environments": {"staging": {"components": {"web": data("web", targets="*")}}}}
            },
            "etc/master": {"id": "alone", **self._settings(), **settings},
            "etc/minion": {"id": "alone", "file_client": "local", **self._settings(), **settings},
        }.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(yaml.safe_dump(tree))
        (folder / "root" / "cache" / "proc").mkdir(parents=True)  # a salt-run before any master wants it

    def _settings(self) -> dict[str, Any]:
        return {
            "root_dir": str(self.folder / "root"),
            "cachedir": str(self.folder / "root" / "cache"),
            "sock_dir": str(self.folder / "root" / "sock"),
            "pki_dir": str(self.folder / "root" / "pki"),
            "log_file": str(self.folder / "root" / "log"),
            "pillar_roots": {"base": [str(self.folder / "pillar")]},
            "ext_pillar": [{"terraform_outputs": {}}],
            "enable_fqdns_grains": False,
            "saltform": {"state_dir": str(self.folder / "state"), "modules": [str(self.folder / "modules")]},
        }

    def run(self, *words: str) -> str:
        env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        command = [str(self.python), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, cwd=self.folder, env=env)
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def salt(self, script: str, *words: str) -> str:
        code = f"import salt.scripts; salt.scripts.{FUNCTIONS[script]}()"
        return self.run("-c", code, "-c", str(self.folder / "etc"), *words)


def by_wheel(folder: Path) -> Install:
    install = Install(folder, with_pip=True)
    build = "from setuptools import build_meta as b; import sys; b.build_wheel(sys.argv[1])"
    dist = folder / "dist"
    # From a copy: a build must not leave its traces in the checkout.
    source = folder / "source"
    for name in ("saltform", "hive_emulator", "salt"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.py", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, source)
    subprocess.run([sys.executable, "-c", build, str(dist)], cwd=source, check=True, capture_output=True)
    (wheel,) = dist.glob("*.whl")
    install.run("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-cache-dir", str(wheel))
    return install


def by_file_root(folder: Path) -> Install:
    install = Install(folder, file_roots={"base": [str(ROOT / "salt")]})
    (install.site / "saltform").symlink_to(ROOT / "saltform")
    install.salt("salt-call", "--local", "saltutil.sync_all")
    install.salt("salt-run", "saltutil.sync_all")
    return install


def by_module_dirs(folder: Path) -> Install:
    install = Install(folder, module_dirs=[str(ROOT / "salt")])
    (install.site / "saltform").symlink_to(ROOT / "saltform")
    return install


@pytest.fixture(scope="module", params=[by_wheel, by_file_root, by_module_dirs], ids=lambda way: way.__name__)
def install(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Install:
    made: Install = request.param(tmp_path_factory.mktemp("install"))
    return made


def test_everything_is_there_and_works_together(install: Install) -> None:
    """One deploy by the runner; module, state, pillar and outputter tell the same afterwards."""
    deployed = json.loads(install.salt("salt-run", "infrastructure.deploy", "staging", "--out=json"))
    assert deployed["success"], deployed
    shown = install.salt("salt-run", "infrastructure.status", "staging")
    assert "web" in shown and "outputter" not in shown
    told = install.salt("salt-call", "--local", "terraform.output", "staging/web", "name", "--out=json")
    assert json.loads(told)["local"] == "web"
    pillar = json.loads(install.salt("salt-call", "--local", "pillar.items", "unmask=True", "--out=json"))["local"]
    assert pillar["terraform"]["staging"]["web"]["name"] == "web"
    single = install.salt(
        "salt-call", "--local", "state.single", "terraform_resource.present", "name=staging/web", "--out=json"
    )
    (result,) = json.loads(single)["local"].values()
    assert (result["result"], result["changes"]) == (True, {})


def test_the_engine_is_the_installed_one(install: Install) -> None:
    where = install.run("-c", "import saltform; print(saltform.__file__)").strip()
    assert where.startswith(str(install.folder))
