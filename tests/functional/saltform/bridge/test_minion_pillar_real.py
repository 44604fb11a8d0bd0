"""The pillar of a job: from the master, once, and from nowhere else."""

from __future__ import annotations

import gc
import socket

import pytest
import yaml

from saltform.bridge import minion_pillar
from saltform.bridge.job import Job
from saltform.bridge.minion_pillar import masters_pillar
from saltform.errors import ConfigError, SaltformError

AT_A_SHELL = Job("1", "root", True)
SENT = Job("1", "dora", False)


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(minion_pillar, "_of_jobs", {})


@pytest.fixture
def options(tmp_path):
    """A minion's, whose configuration says `pillarenv: base`."""
    import salt.config

    for name in ("base", "lax"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "top.sls").write_text(f"{name}: {{'*': [data]}}")
        (tmp_path / name / "data.sls").write_text(f"from: {name}")
    settings = {
        "id": "home",
        "root_dir": str(tmp_path / "root"),
        "pillarenv": "base",
        "pillar_roots": {name: [str(tmp_path / name)] for name in ("base", "lax")},
        "request_channel_timeout": 1,
        "request_channel_tries": 1,
        "auth_timeout": 1,
        "auth_tries": 1,
        "auth_safemode": False,
    }
    (tmp_path / "minion").write_text(yaml.safe_dump(settings))
    opts = dict(salt.config.minion_config(str(tmp_path / "minion")))
    return opts | {"grains": {"id": "home"}, "pillar": {"from": "the call"}}


def test_a_salt_call_without_a_master_compiles_here(options):
    assert masters_pillar(options | {"file_client": "local"}, AT_A_SHELL)["from"] == "base"


def test_the_pillar_environment_is_that_of_the_configuration(options):
    """Salt's own functions write the one of their call into the options that all functions of a job share."""
    written = options | {"file_client": "local", "pillarenv": "lax", "saltenv": "lax"}
    assert masters_pillar(written, AT_A_SHELL)["from"] == "base"
    assert written["pillarenv"] == "lax"


@pytest.mark.parametrize("masterless", [{"file_client": "local"}, {"master_type": "disable"}])
def test_nobody_but_a_salt_call_compiles_here(options, masterless):
    with pytest.raises(SaltformError, match="there is no master to ask"):
        masters_pillar(options | masterless, SENT)


# Not ours: Salt's clients leave sockets and event loops to the garbage collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("job", [SENT, AT_A_SHELL])
def test_a_master_that_does_not_answer_lets_nobody_in(options, job):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        uri = f"tcp://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(SaltformError, match="the master doesn't answer"):
            masters_pillar(options | {"master_uri": uri, "master_ip": "127.0.0.1"}, job)
    gc.collect()


def test_half_a_pillar_lets_nobody_in(options, tmp_path):
    (tmp_path / "base" / "data.sls").write_text("{{ broken")
    with pytest.raises(ConfigError, match="pillar of home"):
        masters_pillar(options | {"file_client": "local"}, AT_A_SHELL)


def test_a_job_asks_once_and_the_next_one_again(options, tmp_path):
    options |= {"file_client": "local"}
    first = masters_pillar(options, AT_A_SHELL)
    (tmp_path / "base" / "data.sls").write_text("from: later")
    assert masters_pillar(options, AT_A_SHELL) is first
    assert masters_pillar(options, Job("2", "root", True))["from"] == "later"


def test_a_job_that_got_no_answer_waits_for_none_a_second_time(options, monkeypatch):
    asked = []
    monkeypatch.setattr(minion_pillar, "_compiled", lambda *_: asked.append(1) or refuse())
    for _ in range(2):
        with pytest.raises(SaltformError, match="no answer"):
            masters_pillar(options, SENT)
    assert len(asked) == 1


def refuse():
    raise SaltformError("no answer")
