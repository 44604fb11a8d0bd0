"""The ways to install, each in a Python of its own that has Salt and not this checkout."""

from __future__ import annotations

import hashlib
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

    def run(self, *words: str, may_fail: bool = False) -> str:
        env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        command = [str(self.python), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, cwd=self.folder, env=env)
        assert may_fail or done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def worker(self, wheel: str, digest: str) -> None:
        """Pillar that makes this host a worker with this wheel."""
        settings = {"root": str(self.folder / "host"), "wheel": {"source": f"salt://wheels/{wheel}", "hash": digest}}
        tree = {"base": {"*": ["infrastructure", "worker"]}}
        (self.folder / "pillar" / "top.sls").write_text(yaml.safe_dump(tree))
        (self.folder / "pillar" / "worker.sls").write_text(yaml.safe_dump({"worker": settings}))

    def apply(self, sls: str) -> dict[str, dict[str, Any]]:
        """`state.apply`, whether it went well or not."""
        told = json.loads(self.salt("salt-call", "--local", "state.apply", sls, "--out=json", may_fail=True))["local"]
        assert isinstance(told, dict), told
        return {result["__id__"]: result for result in told.values()}

    def salt(self, script: str, *words: str, may_fail: bool = False) -> str:
        code = f"import salt.scripts; salt.scripts.{FUNCTIONS[script]}()"
        return self.run("-c", code, "-c", str(self.folder / "etc"), *words, may_fail=may_fail)


def built_wheel(folder: Path) -> Path:
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
    return wheel


def by_wheel(folder: Path) -> Install:
    install = Install(folder, with_pip=True)
    wheel = built_wheel(folder)
    install.run("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-cache-dir", str(wheel))
    return install


def by_worker_state(folder: Path) -> Install:
    """`state.apply terraform`, with the wheel in a file root of the master."""
    wheel = built_wheel(folder)
    files = folder / "files"
    (files / "wheels").mkdir(parents=True)
    shutil.copy(wheel, files / "wheels")
    install = Install(folder, with_pip=True, file_roots={"base": [str(ROOT / "salt"), str(files)]})
    install.worker(wheel.name, hashlib.sha256(wheel.read_bytes()).hexdigest())
    first, second = install.apply("terraform"), install.apply("terraform")
    assert first["worker package"]["result"] and second["worker package"]["result"], first
    assert second["worker package"]["changes"] == {}
    shutil.rmtree(folder / "root" / "cache" / "extmods", ignore_errors=True)
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


@pytest.fixture(
    scope="module", params=[by_wheel, by_worker_state, by_file_root, by_module_dirs], ids=lambda way: way.__name__
)
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
    pillar = json.loads(install.salt("salt-call", "--local", "pillar.raw", "terraform", "--out=json"))["local"]
    assert pillar["staging"]["web"]["name"] == "web"
    single = install.salt(
        "salt-call", "--local", "state.single", "terraform_resource.present", "name=staging/web", "--out=json"
    )
    (result,) = json.loads(single)["local"].values()
    assert (result["result"], result["changes"]) == (True, {})


def test_the_engine_is_the_installed_one(install: Install) -> None:
    where = install.run("-c", "import saltform; print(saltform.__file__)").strip()
    assert where.startswith(str(install.folder))


def test_a_wheel_that_is_not_the_one_pillar_names_is_not_installed(tmp_path: Path) -> None:
    """Whoever can write to a file root of the master can't bring a package of their own."""
    files = tmp_path / "files" / "wheels"
    files.mkdir(parents=True)
    (files / "saltform-9.9-py3-none-any.whl").write_bytes(b"somebody else's")
    install = Install(tmp_path, with_pip=True, file_roots={"base": [str(ROOT / "salt"), str(tmp_path / "files")]})
    install.worker("saltform-9.9-py3-none-any.whl", "0" * 64)
    result = install.apply("terraform")["worker package"]
    assert result["result"] is False
    assert "computed checksum did NOT match" in result["changes"]["stderr"]


def test_a_host_without_the_package_and_without_a_wheel_is_told_how_to_get_one(tmp_path: Path) -> None:
    install = Install(tmp_path, file_roots={"base": [str(ROOT / "salt")]})
    tree = {"worker": {"root": str(tmp_path / "host")}}
    (tmp_path / "pillar" / "infrastructure.sls").write_text(yaml.safe_dump(tree))
    result = install.apply("terraform")["worker package"]
    assert result["result"] is False
    assert "make wheel" in result["comment"]
