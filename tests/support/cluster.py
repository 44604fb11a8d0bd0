"""A salt-master and a minion of its own on this machine, with an infrastructure of terraform_data to work on."""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from saltform.features.requests.slots import SLOTS
from saltform.layout import Layout
from saltform.runlog import RunLog

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
MASTER = "integration"
HOME = "home.example.org"  # the master's own minion, where the states are
API_SECRET = "an-integration-secret"
TIMEOUT = 600  # seconds that a busy machine may need for anything; only a failure waits for all of them
SALT = int(version("salt").split(".")[0])
# What pillar.items takes to show values; before 3008 it always does.
UNMASKED = ["unmask=True"] if SALT >= 3008 else []

DATA = """
variable "name" { type = string }
resource "terraform_data" "this" { input = var.name }
output "id" { value = terraform_data.this.id }
output "name" { value = terraform_data.this.output }
output "password" {
  value     = "hush-hush-${var.name}"
  sensitive = true
}
"""
SHELL = """
variable "command" { type = string }
variable "after" {
  type    = string
  default = ""
}
resource "terraform_data" "this" {
  input = var.command
  provisioner "local-exec" { command = var.command }
}
"""
MODULES = {"data": DATA, "shell": SHELL}
COUNTER = """#!py
def run():
    with open("{}", "a") as counter:
        counter.write("once more\\n")
    return {{}}
"""


def data(name: str, **more: Any) -> dict[str, Any]:
    return {"module": "data", "variables": {"name": name}, **more}


def shell(command: str, **more: Any) -> dict[str, Any]:
    return {"module": "shell", "variables": {"command": command}, **more}


def environments(folder: Path) -> dict[str, Any]:
    """Each test file has environments of its own, so that none waits for another's."""
    pair = {"base": data("base"), "app": data("app", needs=["base"])}
    seen = {
        "base": data("base", targets=f"{HOME} or web-*", outputs={"password": {"targets": [HOME, "vault-1"]}}),
        "vault": data("vault", outputs={"password": {"targets": "I@vault:role:server"}}),
    }
    components = {
        "staging": pair,
        "json": pair,
        "events": pair,
        "minion-events": pair,
        "reacted": pair,
        "broken": {"bad": shell("echo went wrong >&2; exit 3"), "next": data("next", needs=["bad"])},
        "slow": {"sleeper": shell(f"touch {folder}/asleep; sleep 60"), "next": data("next", needs=["sleeper"])},
        "locked": pair,
        "wrong": {"base": {"module": "dta", "varibles": {}}},
        "states": pair | {"watcher": data("watcher"), "late": data("late")},
        "absent": pair,
        "keywords": {"base": data("base")},
        "pillar": seen,
        "orchestrated": pair,
        "orch": {name: data(name) for name in ("one", "two", "three")},
        "minions": {"base": data("base", targets=HOME)},
        "api": pair,
        "async": pair,
        "quiet": pair,
        "modules": pair,
        "owned": pair,
        "counted": {"base": data("base")},
        "scheduled": {"base": data("base")},
    }
    promoted = {"promoted_from": "staging", "components": {"base": {"variables": {"name": "production"}}}}
    one = {"base": data("base")}
    guarded = {"components": pair, "approval": {"when": "always", "by": ["@approvers"], "not_author": True}}
    return {name: {"components": tree} for name, tree in components.items()} | {
        "production": promoted,
        "guarded": guarded,
        "proving": {"components": one, "health": {"function": "test.false", "targets": HOME}},
        "proved": {"promoted_from": "proving"},
        "well": {"components": one, "health": {"function": "test.ping", "targets": [HOME]}},
        "proved-well": {"promoted_from": "well"},
        "asked": {"components": pair, "requests": {HOME: ["deploy"]}},
        "asked-guarded": {"components": one, "approval": {"when": "always"}, "requests": {HOME: ["deploy"]}},
    }


def roles() -> dict[str, Any]:
    """Whoever runs the tests and the users of the other tests may all; in two environments each role has its user."""
    users = {"viewer": "vic", "planner": "paul", "deployer": "dora", "approver": "@approvers"}
    granted = {role: {"guarded": [user], "owned": [user]} for role, user in users.items()}
    granted["deployer"] |= {"modules": ["sudo_jo"], "scheduled": ["schedule"]}
    return {
        **granted,
        "admin": {"*": ["alice", "Reactor", getpass.getuser()]},
    }


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def tree(self) -> Any:
        """The one JSON document on stdout. Anything else there is an error."""
        return json.loads(self.stdout)


class Cluster:
    """Where the master and its minion are, and how to talk to them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state_dir = folder / "saltform"
        self.sls = folder / "sls"
        self.pillar = folder / "pillar"
        self.lax = folder / "lax"
        self.master_config = Path()
        self.minion_config = Path()
        self.listener: Any = None
        self.api_port = 0
        self.accepted_by_hand: set[str] = set()  # further minions whose keys a person would accept
        for name, text in MODULES.items():
            (folder / "modules" / name).mkdir(parents=True)
            (folder / "modules" / name / "main.tf").write_text(text)
        self.sls.mkdir()
        self.pillar.mkdir()
        who = f"{MASTER}* or {HOME} or *.{HOME}"
        top = {who: [{"match": "compound"}, "infrastructure"], HOME: ["counter"]}
        self._write(self.pillar / "top.sls", {"base": top})
        self.compilations = folder / "compilations"
        (self.pillar / "counter.sls").write_text(COUNTER.format(self.compilations))
        tree = {
            "environments": environments(folder),
            "roles": roles(),
            "groups": {"approvers": ["ann", "abe", "dora"]},
        }
        self._write(self.pillar / "infrastructure.sls", {"infrastructure": tree})
        # A second pillar environment, in which everybody is what in the first one nobody is.
        self._write(folder / "pillar-dev" / "top.sls", {"dev": {"*": ["vault"]}})
        self._write(folder / "pillar-dev" / "vault.sls", {"vault": {"role": "server"}})
        # Another pillar environment, which the home isn't configured to use: everybody may do all in it.
        self._write(self.lax / "top.sls", {"lax": {HOME: ["infrastructure"]}})
        self._write(self.lax / "infrastructure.sls", {"infrastructure": tree | {"roles": None}})

    @property
    def layout(self) -> Layout:
        return Layout(self.state_dir)

    def settings(self) -> dict[str, Any]:
        """What master and home minion have in common."""
        return {
            "saltform": {"state_dir": str(self.state_dir), "modules": [str(self.folder / "modules")]},
            "log_level_logfile": "warning",
            "enable_fqdns_grains": False,
        }

    def home_settings(self) -> dict[str, Any]:
        return {**self.settings(), "pillarenv": "base"}

    def master_settings(self) -> dict[str, Any]:
        from pytestshellutils.utils import ports

        self.api_port = ports.get_unused_localhost_port()
        examples = ROOT / "examples" / "master.d"
        keys = yaml.safe_load((examples / "saltform-keys.conf").read_text())
        requests = yaml.safe_load((examples / "saltform-requests.conf").read_text())
        return {
            **self.settings(),
            **keys,
            "file_roots": {"base": [str(self.sls), str(ROOT / "salt")], "lax": [str(self.sls)]},
            "pillar_roots": {
                "base": [str(self.pillar)],
                "dev": [str(self.folder / "pillar-dev")],
                "lax": [str(self.lax)],
            },
            "ext_pillar": [{"terraform_outputs": {}}],
            "reactor": [*keys["reactor"], *requests["reactor"], {"test/deploy": [str(self.sls / "react.sls")]}],
            "open_mode": False,  # keys are accepted as on a real master
            "worker_threads": 3,
            "timeout": TIMEOUT,  # of `salt`, of salt-api and of orchestrations: Salt's own five seconds are few
            "peer": {HOME: [r"terraform\..*", r"state\..*"]},
            "peer_run": {HOME: [r"infrastructure\.approve$"]},
            "netapi_enable_clients": ["runner", "runner_async", "local"],
            "rest_cherrypy": {"host": "127.0.0.1", "port": self.api_port, "disable_ssl": True},
            "sharedsecret": API_SECRET,
            "external_auth": {
                "sharedsecret": dict.fromkeys(
                    ("alice", "vic", "paul", "dora", "ann", "abe", "root"),
                    ["@runner", "terraform.*", "state.apply", "pillar.items"],
                )
            },
        }

    def write_sls(self, name: str, tree: Mapping[str, Any]) -> None:
        self._write(self.sls / f"{name}.sls", tree)

    def command(self, *words: str) -> list[str]:
        """A Salt command line of this cluster: salt-run and salt ask the master, salt-call is on the minion."""
        config = self.minion_config if words[0] == "salt-call" else self.master_config
        return [str(BIN / words[0]), "-c", str(config), *words[1:]]

    def run(self, *words: str, env: Mapping[str, str] | None = None) -> Ended:
        done = subprocess.run(
            self.command(*words),
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            env={name: value for name, value in os.environ.items() if name != "SUDO_USER"} | dict(env or {}),
            cwd=self.folder,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def runner(self, verb: str, *arguments: str) -> Ended:
        return self.run("salt-run", f"infrastructure.{verb}", *arguments, "--out=json")

    def call(self, function: str, *arguments: str, out: str = "json") -> Ended:
        return self.run("salt-call", function, *arguments, f"--out={out}")

    def runs(self, environment: str) -> list[dict[str, Any]]:
        """The runs on record, newest first."""
        runlog = RunLog(self.layout.runlog)
        try:
            return [vars(run) for run in runlog.runs(environment)]
        finally:
            runlog.close()

    def wait_for_slot(self) -> None:
        """Until the home minion may ask for something again: what was refused keeps its slot for a while."""
        folder = self.layout.requests_of(HOME)
        wait_for(lambda: any(_is_free(folder / name) for name in SLOTS))

    def newest_run(self, environment: str) -> dict[str, Any]:
        return self.runs(environment)[0]

    def ask(self, function: str, *arguments: Any, **options: Any) -> tuple[Any, int]:
        """What a job on the minion returned, and its exit code. No process is started for asking."""
        import salt.client

        with salt.client.LocalClient(str(self.master_config / "master")) as client:
            jobs = client.cmd(HOME, function, arguments, timeout=TIMEOUT, kwarg=options, full_return=True)
        return jobs[HOME]["ret"], jobs[HOME]["retcode"]

    def ask_as(self, user: str, function: Any, *arguments: Any, job: Any = (), **options: Any) -> Any:
        """What a job returned that a user of `external_auth` sent; `job` is what the request says beside the call."""
        import salt.client

        login = {"username": user, "password": API_SECRET, "eauth": "sharedsecret"}
        with salt.client.LocalClient(str(self.master_config / "master")) as client:
            return client.cmd(HOME, function, arguments, timeout=TIMEOUT, kwarg=options, **login, **dict(job))[HOME]

    def apply(self, *sls: str, **options: Any) -> list[dict[str, Any]]:
        """The results of `state.apply SLS`, or of a highstate, in the order in which they ran."""
        results, _code = self.ask("state.apply", *sls, **options)
        assert isinstance(results, dict), results
        return sorted(results.values(), key=lambda item: item["__run_num__"])

    @contextlib.contextmanager
    def running(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """A command in the background, interrupted at the end if it still runs."""
        process = subprocess.Popen(
            self.command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=TIMEOUT)

    @staticmethod
    def _write(path: Path, tree: Mapping[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(dict(tree), sort_keys=False))


def _is_free(slot: Path) -> bool:
    if not slot.exists():
        return True
    with slot.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def wait_for(what: Callable[[], Any], seconds: float = TIMEOUT) -> Any:
    """The first true answer; an assertion if there is none in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := what():
            return answer
        time.sleep(0.05)
    raise AssertionError(f"nothing within {seconds:g} s")
