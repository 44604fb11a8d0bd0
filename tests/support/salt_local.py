"""Salt without a master, on this repository's trees: pillar compiled as a master does it, states by `salt-call`."""

from __future__ import annotations

import getpass
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
SALT_CALL = Path(sys.executable).with_name("salt-call")
SALT_RUN = Path(sys.executable).with_name("salt-run")
TIMEOUT = 120


class SaltCall:
    """A masterless minion in a folder of its own. `pillar` is what it sees, next to what it is given by call."""

    def __init__(self, folder: Path, minion_id: str = "minion", **config: Any) -> None:
        self.folder = folder
        self.minion_id = minion_id
        self.config_dir = folder / "salt-config"
        self._pillar_dir = folder / "pillar"
        for path in (self.config_dir, self._pillar_dir):
            path.mkdir(parents=True, exist_ok=True)
        settings = {
            "id": minion_id,
            "root_dir": str(folder / "salt-root"),
            "file_client": "local",
            "master_type": "disable",
            "use_superseded": [],
            "file_roots": {"base": [str(ROOT / "salt")]},
            "pillar_roots": {"base": [str(self._pillar_dir)]},
            "log_file": str(folder / "salt.log"),
            "log_level_logfile": "warning",
            "enable_fqdns_grains": False,
            **config,
        }
        (self.config_dir / "minion").write_text(yaml.safe_dump(settings))
        self.pillar({})

    def pillar(self, tree: Mapping[str, Any]) -> None:
        (self._pillar_dir / "top.sls").write_text("base: {'*': [data]}\n")
        (self._pillar_dir / "data.sls").write_text("#!json\n" + json.dumps(tree))

    def run(self, function: str, *arguments: str, **keywords: Any) -> Any:
        """What the function returned; an AssertionError with everything printed when it can't be told."""
        command = [
            str(SALT_CALL),
            "--local",
            "--config-dir",
            str(self.config_dir),
            "--out=json",
            "--retcode-passthrough",
        ]
        command += [function, *arguments, *(f"{key}={json.dumps(value)}" for key, value in keywords.items())]
        environment = {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env=environment)
        try:
            return json.loads(done.stdout)["local"]
        except (ValueError, KeyError):
            raise AssertionError(f"{function}: exit {done.returncode}\n{done.stdout}\n{done.stderr}") from None

    def apply(self, sls: str, **keywords: Any) -> dict[str, dict[str, Any]]:
        """`state.apply`: state id → its result. Fails on anything that is not a set of results."""
        found = self.run("state.apply", sls, **keywords)
        assert isinstance(found, dict), f"{sls} was not applied: {found}"
        return {result["__id__"]: result for result in found.values()}


class SaltRun:
    """`salt-run` without a master running, with our runner, on pillar that a test writes."""

    def __init__(
        self, folder: Path, pillar: Mapping[str, Any], modules: Path = ROOT / "terraform" / "modules"
    ) -> None:
        self.config_dir = folder / "master-config"
        (folder / "pillar").mkdir(parents=True)
        (folder / "pillar" / "top.sls").write_text("base: {'desk_master': [data]}\n")
        (folder / "pillar" / "data.sls").write_text("#!json\n" + json.dumps(pillar))
        (folder / "master-root" / "cache" / "proc").mkdir(parents=True)  # salt-run expects it
        self.config_dir.mkdir()
        settings = {
            "id": "desk_master",
            "root_dir": str(folder / "master-root"),
            "cachedir": str(folder / "master-root" / "cache"),
            "user": getpass.getuser(),
            "file_roots": {"base": [str(folder / "sls"), str(ROOT / "salt")]},
            "pillar_roots": {"base": [str(folder / "pillar")]},
            "runner_dirs": [str(ROOT / "salt" / "_runners")],
            "outputter_dirs": [str(ROOT / "salt" / "_output")],
            "saltform": {"state_dir": str(folder / "state"), "modules": [str(modules)]},
            "log_file": str(folder / "master.log"),
            "enable_fqdns_grains": False,
        }
        (self.config_dir / "master").write_text(yaml.safe_dump(settings))

    def orchestrate(self, sls: str, **pillar: Any) -> tuple[int, dict[str, dict[str, Any]]]:
        """The exit code, and state id → result."""
        code, results = self._orchestrated(sls, pillar)
        assert isinstance(results, dict), f"{sls}: exit {code}, {results}"
        return code, {result["__id__"]: result for result in results.values()}

    def refusal(self, sls: str, **pillar: Any) -> str:
        """Why an SLS was not rendered, so that nothing ran."""
        code, errors = self._orchestrated(sls, pillar)
        assert (code, isinstance(errors, list)) == (1, True), f"{sls}: exit {code}, {errors}"
        return "\n".join(errors)

    def _orchestrated(self, sls: str, pillar: Mapping[str, Any]) -> tuple[int, Any]:
        command = [str(SALT_RUN), "--config-dir", str(self.config_dir), "--out=json", "--log-level=quiet"]
        command += ["state.orchestrate", sls, f"pillar={json.dumps(pillar)}"]
        environment = {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env=environment)
        try:
            [data] = json.JSONDecoder().raw_decode(done.stdout[done.stdout.index("{") :])[0]["data"].values()
        except (ValueError, KeyError, AttributeError):
            raise AssertionError(f"{sls}: exit {done.returncode}\n{done.stdout}\n{done.stderr}") from None
        return done.returncode, data


def failed(results: Mapping[str, dict[str, Any]]) -> dict[str, str]:
    """State id → comment of everything that did not succeed."""
    return {name: result["comment"] for name, result in results.items() if result["result"] is False}


def changed(results: Mapping[str, dict[str, Any]]) -> set[str]:
    return {name for name, result in results.items() if result["changes"]}


def compile_pillar(folder: Path, minion_id: str, **config: Any) -> dict[str, Any]:
    """The repository's pillar as a master with this configuration compiles it for an id.

    In a process of its own: importing Salt changes how the importing process imports everything else.
    """
    settings = {
        "root_dir": str(folder),
        "cachedir": str(folder / "cache"),
        "extension_modules": str(folder / "extmods"),
        "file_client": "local",
        "pillar_roots": {"base": [str(ROOT / "pillar")]},
        "file_roots": {"base": [str(ROOT / "salt")]},
        **config,
    }
    command = [sys.executable, "-W", "ignore", "-c", _COMPILE, minion_id, json.dumps(settings)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, cwd=folder)
    assert done.returncode == 0, done.stderr
    pillar = json.loads(done.stdout)
    assert "_errors" not in pillar, pillar["_errors"]
    return pillar


_COMPILE = """
import json, sys
import salt.config, salt.pillar
minion_id, settings = sys.argv[1], json.loads(sys.argv[2])
options = {**salt.config.master_config(None), **settings}
pillar = salt.pillar.get_pillar(options, {"id": minion_id}, minion_id, "base").compile_pillar()
print(json.dumps(pillar))
"""
