"""Real Terraform: the embedded one, and those on the PATH."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path

import pytest

from saltform.config.types import Settings, Timeouts
from saltform.process import RealProcesses, clean_environment
from saltform.terraform import binary as binaries
from saltform.terraform import mirror
from saltform.terraform.session import Session

CHOICES = ["embedded", *filter(shutil.which, ("terraform", "tofu"))]


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(params=CHOICES)
def binary(request, cache):
    return binaries.find(request.param, cache_dir=cache, processes=RealProcesses())


@pytest.fixture(scope="session")
def cli_config(cache):
    return mirror.prepare(Settings(state_dir=cache), cache)


@pytest.fixture
def make_session(tmp_path, cache, cli_config):
    """A session on a workspace with the given root; what it logs is in `session_log`."""

    def make(binary, root, folder="workspace", *, env=None, mask=str, timeouts=None, cli=None, **more) -> Session:
        workspace = tmp_path / folder
        workspace.mkdir(exist_ok=True)
        write_root(workspace, root)
        environment = clean_environment(cache / "home", cli or cli_config.path, env or {})
        log = (tmp_path / "session.log").open("a", buffering=1)
        more.setdefault("cancel", threading.Event())
        context.append(log)
        return Session(
            binary=binary,
            workspace=workspace,
            env=environment,
            processes=RealProcesses(),
            log=lambda line: print(line, file=log),
            component="staging/net",
            timeouts=timeouts or Timeouts(init=600, plan=600, apply=600),
            mask=mask,
            **more,
        )

    context: list = []
    yield make
    for file in context:
        file.close()


def write_root(workspace: Path, root: dict | str) -> None:
    """A root as JSON, as the engine generates it, or as HCL where a test reads better so."""
    if isinstance(root, str):
        (workspace / "main.tf").write_text(root)
    else:
        (workspace / "main.tf.json").write_text(json.dumps(root))
