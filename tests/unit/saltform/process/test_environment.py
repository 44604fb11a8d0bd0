"""The environment of a terraform process is built, and callers can't bend it."""

from __future__ import annotations

import stat

import pytest

from saltform.process.environment import AWS_CONFIG, MANAGED, clean_environment, steers

PLANTED = {
    "AWS_PROFILE": "stolen",
    "AWS_CA_BUNDLE": "/planted.pem",
    "AWS_ACCESS_KEY_ID": "planted",
    "SSL_CERT_FILE": "/planted.pem",
    "ARM_CLIENT_SECRET": "planted",
    "TF_VAR_cidr": "planted",
    "TF_CLI_ARGS": "-destroy",
    "TF_CLI_ARGS_plan": "-destroy",
    "TF_LOG": "trace",
    "TF_DATA_DIR": "/planted",
    "TF_WORKSPACE": "planted",
    "LD_PRELOAD": "/planted.so",
    "VAULT_TOKEN": "planted",
}


@pytest.fixture
def build(tmp_path):
    return lambda extra=None, ca=None: clean_environment(tmp_path / "home", tmp_path / "cli", extra or {}, ca)


def test_nothing_from_our_own_environment_comes_through(build, monkeypatch):
    for name, value in PLANTED.items():
        monkeypatch.setenv(name, value)
    built = build()
    assert set(built) & set(PLANTED) == set()
    assert set(built.values()) & set(PLANTED.values()) - {"1"} == set()


def test_path_locale_time_zone_and_proxies_come_through(build, monkeypatch):
    wanted = {
        "PATH": "/bin",
        "LANG": "de_DE.UTF-8",
        "LC_ALL": "C",
        "TZ": "Australia/Sydney",
        "HTTPS_PROXY": "http://proxy:1",
        "https_proxy": "http://proxy:2",
        "no_proxy": "localhost",
    }
    for name, value in wanted.items():
        monkeypatch.setenv(name, value)
    built = build()
    assert {name: built[name] for name in wanted} == wanted


def test_a_path_is_there_even_if_we_have_none(build, monkeypatch):
    monkeypatch.delenv("PATH")
    assert build()["PATH"]


def test_home_and_the_aws_files_are_private_and_ours(build, tmp_path):
    built = build()
    assert built["HOME"] == str(tmp_path / "home")
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700
    for name, content in (("AWS_CONFIG_FILE", AWS_CONFIG), ("AWS_SHARED_CREDENTIALS_FILE", "")):
        path = tmp_path / "home" / built[name].rpartition("/")[2]
        assert path.read_text() == content
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_terraform_asks_nobody_and_nothing(build, tmp_path):
    built = build()
    assert built["TF_CLI_CONFIG_FILE"] == str(tmp_path / "cli")
    assert (built["CHECKPOINT_DISABLE"], built["TF_INPUT"], built["TF_IN_AUTOMATION"]) == ("1", "0", "1")
    assert built["AWS_EC2_METADATA_DISABLED"] == "true"


def test_what_was_lent_is_added(build):
    built = build({"AWS_ACCESS_KEY_ID": "lent"}, {"AWS_CA_BUNDLE": "/ca.pem"})
    assert (built["AWS_ACCESS_KEY_ID"], built["AWS_CA_BUNDLE"]) == ("lent", "/ca.pem")


@pytest.mark.parametrize("name", [*sorted(MANAGED), "LC_ALL", "TF_CLI_ARGS_plan", "TF_LOG_PATH", "TF_DATA_DIR"])
def test_a_managed_name_is_refused_from_callers(build, name):
    with pytest.raises(ValueError, match=name):
        build({name: "x"})
    with pytest.raises(ValueError, match=name):
        build(ca={name: "x"})


@pytest.mark.parametrize(
    "name", ["TF_LOG_PATH", "LD_PRELOAD", "LD_AUDIT", "GIT_SSH_COMMAND", "BASH_ENV", "PYTHONPATH"]
)
def test_a_name_that_steers_processes_is_known_by_its_prefix(name):
    assert steers(name)


@pytest.mark.parametrize(
    "name", ["TF_VAR_psk", "TF_HTTP_PASSWORD", "TF_TOKEN_app_example_com", "GITHUB_TOKEN", "LDAP_USER"]
)
def test_what_only_says_who_we_are_may_be_lent(name):
    assert not steers(name)


def test_a_private_ca_comes_from_the_provider_and_is_never_lent(build):
    assert build(ca={"SSL_CERT_FILE": "/ca.pem"})["SSL_CERT_FILE"] == "/ca.pem"
    with pytest.raises(ValueError, match="SSL_CERT_FILE"):
        build({"SSL_CERT_FILE": "/lent.pem"})


def test_git_may_use_no_transport_that_runs_a_command(build):
    assert "ext" not in build()["GIT_ALLOW_PROTOCOL"].split(":")
