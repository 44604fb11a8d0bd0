"""One salt-master with its minion for all integration tests of a worker: they take ten seconds to start."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster import HOME, MASTER, Cluster

# Salt's objects import modules when they are collected as garbage, and CPython 3.11 breaks an import in which that
# happens (gh-106176): what the tests of reports would import late is imported before there is any Salt.
for late in ("rich.console", "saltform.report.blocks", "saltform.report.drift_text"):
    importlib.import_module(late)


@pytest.fixture(scope="session")
def factories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """pytest-salt-factories without its plugins: those would start servers for every test run."""
    from saltfactories.manager import FactoriesManager
    from saltfactories.plugins.event_listener import EventListener
    from saltfactories.plugins.log_server import LogServer

    log_server = LogServer(log_level="warning")
    listener = EventListener(timeout=600)
    listener.host = "127.0.0.1"
    log_server.start()
    listener.start()
    yield FactoriesManager(
        root_dir=tmp_path_factory.mktemp("salt"),
        log_server_host=log_server.log_host,
        log_server_port=log_server.log_port,
        log_server_level=log_server.log_level,
        event_listener=listener,
        environ=os.environ.copy(),
        slow_stop=False,
    )
    listener.stop()
    log_server.stop()


@pytest.fixture(scope="session")
def master(factories: Any, cluster_files: Cluster) -> Iterator[Any]:
    def accept_by_hand(master: Any, event: dict[str, Any]) -> None:
        """The home minion and those below it: all others that ask to be let in have to show what they have."""
        known = event["id"].endswith(HOME) or event["id"] in cluster_files.accepted_by_hand
        if known and event["act"] == "pend":
            master.salt_key_cli().run("--yes", "--accept", event["id"])

    daemon = factories.salt_master_daemon(
        MASTER,
        overrides=cluster_files.master_settings(),
        start_timeout=180,
        on_auth_event_callback=accept_by_hand,
    )
    cluster_files.listener = factories.event_listener
    cluster_files.master_config = Path(daemon.config_dir)
    with daemon.started():
        yield daemon


@pytest.fixture(scope="session")
def cluster_files(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    return Cluster(tmp_path_factory.mktemp("cluster"))


@pytest.fixture(scope="session")
def cluster(master: Any, cluster_files: Cluster) -> Iterator[Cluster]:
    """A running master and its minion."""
    minion = master.salt_minion_daemon(HOME, overrides=cluster_files.home_settings(), start_timeout=180)
    cluster_files.minion_config = Path(minion.config_dir)
    with minion.started():
        yield cluster_files


@pytest.fixture(scope="session")
def api(master: Any, cluster: Cluster) -> Iterator[Cluster]:
    """The same, with a salt-api in front."""
    with master.salt_api_daemon(start_timeout=180).started():
        yield cluster
