"""What is wrong with a source is said with its pillar path, all at once, and without its values."""

from __future__ import annotations

import subprocess
import sys

import pytest

from saltform.config import load
from saltform.config.sources import validate, validate_vault
from saltform.config.types import CredentialSource
from saltform.errors import ConfigError

PATH = "infrastructure:providers:p:credentials"


def problems(kind, **options):
    return {p.path.removeprefix(f"{PATH}:"): p for p in validate(CredentialSource(kind, options, f"{PATH}:{kind}"))}


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("vault", {"path": "secret/hive", "map": {"AWS_ACCESS_KEY_ID": "a"}, "mount": "secret", "engine": "kv2"}),
        ("vault", {"path": "database/creds/x", "field": "password"}),
        ("pillar", {"path": "a:b"}),
        ("environment", {}),
        ("environment", {"path": "HCLOUD_TOKEN"}),
        ("file", {"path": "/etc/token", "format": "env"}),
        ("command", {"path": ["aws-vault", "exec"], "timeout": 5}),
        ("command", {"path": "aws-vault exec"}),
        ("", {}),
    ],
)
def test_what_is_right_has_no_problem(kind, options):
    assert problems(kind, **options) == {}


def test_an_unknown_source_gets_the_nearest_name():
    assert problems("valt")["valt"].nearest == "vault"


def test_every_problem_is_reported_at_once():
    found = problems("vault", pth="secret/x", engine="kv3", map={"A B": "x", "PATH": "y", "TF_VAR_psk": "z", "OK": 3})
    assert set(found) == {
        "vault:pth", "vault:path", "vault:engine", "vault:map:A B", "vault:map:PATH", "vault:map:TF_VAR_psk",
        "vault:map:OK",
    }  # fmt: skip
    assert found["vault:pth"].nearest == "path"
    assert "secret_variables: {psk" in found["vault:map:TF_VAR_psk"].expected


@pytest.mark.parametrize("kind", ["vault", "pillar", "file", "command"])
def test_a_source_without_its_path_is_a_problem(kind):
    assert f"{kind}:path" in problems(kind)


def test_a_wrong_value_is_not_shown():
    assert "hunter2" not in str(problems("vault", path={"x": "hunter2"}, map="hunter2", engine="hunter2"))


def test_vault_settings():
    assert validate_vault({"address": "https://v", "auth": {"method": "approle", "role_id": "x"}}) == []
    assert validate_vault({"auth": {"token": {"environment": "T"}}}) == []
    wrong = {"adress": "x", "auth": {"method": "magic", "token": {"sdb": "x"}, "rolle_id": "y"}}
    assert {problem.path.removeprefix("infrastructure:vault:") for problem in validate_vault(wrong)} == {
        "adress", "auth:method", "auth:token", "auth:rolle_id",
    }  # fmt: skip
    assert validate_vault("x")[0].path == "infrastructure:vault"
    assert validate_vault({"auth": "x"})[0].path == "infrastructure:vault:auth"
    assert validate_vault({"auth": {"method": "approle"}})[0].path == "infrastructure:vault:auth:role_id"


def test_reading_a_pillar_imports_no_client_library():
    code = (
        "import sys, saltform.config, saltform.credentials, saltform.credentials.lender\n"
        "print([m for m in ('hvac', 'requests', 'boto3', 'botocore', 'ahocorasick_rs') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


@pytest.mark.parametrize(
    "tree",
    [
        {"providers": {"hive": {"kind": "aws", "credentials": "hunter2-hunter2"}}},
        {"environments": {"e": {"components": {"a": {"module": "m", "secret_variables": "hunter2-hunter2"}}}}},
        {"environments": {"e": {"components": {"a": {"module": "m", "secret_variables": {"p": "hunter2-hunter2"}}}}}},
    ],
)
def test_a_secret_that_stands_where_its_source_should_is_not_shown(tree):
    with pytest.raises(ConfigError) as caught:
        load({"infrastructure": {"environments": {}, **tree}})
    assert "expected a mapping" in str(caught.value)
    assert "hunter2" not in str(caught.value.as_dict())


def infrastructure(credentials, **provider):
    wanted = {"kind": "generic", "source": "registry.terraform.io/grafana/grafana", "credentials": credentials}
    return {
        "infrastructure": {
            "providers": {"grafana": {**wanted, **provider}},
            "environments": {"lab": {"components": {"c": {"module": "m"}}}},
        }
    }


@pytest.mark.parametrize("asked", [{"vault": "secret/x"}, {"pillar": "a:b"}, {"file": "/x"}, {"environment": {}}])
def test_a_generic_kind_needs_a_map(asked):
    """Without one, whoever writes to the source hands TF_LOG_PATH or LD_PRELOAD to terraform."""
    with pytest.raises(ConfigError) as caught:
        load(infrastructure(asked))
    (problem,) = caught.value.problems
    assert problem.path == f"infrastructure:providers:grafana:credentials:{next(iter(asked))}:map"
    assert "map: {VARIABLE: field}" in problem.expected


def test_a_generic_kind_takes_a_map_or_one_variable_by_name():
    load(
        infrastructure([{"vault": {"path": "x", "map": {"GRAFANA_AUTH": "token"}}}, {"environment": "GRAFANA_AUTH"}])
    )


def test_a_kind_that_knows_its_names_needs_no_map():
    load(infrastructure({"vault": "secret/hive"}, kind="hive"))


@pytest.mark.parametrize("name", ["TF_LOG_PATH", "TF_LOG", "LD_PRELOAD", "GIT_SSH_COMMAND", "SSL_CERT_FILE", "PATH"])
@pytest.mark.parametrize("kind", ["generic", "hive"])
def test_a_name_that_steers_processes_is_refused(name, kind):
    mapped = {"vault": {"path": "x", "map": {"GRAFANA_AUTH": "token", name: "field"}}}
    for asked, where in ((mapped, f"vault:map:{name}"), ({"environment": name}, "environment:path")):
        with pytest.raises(ConfigError) as caught:
            load(infrastructure(asked, kind=kind))
        (problem,) = caught.value.problems
        assert problem.path == f"infrastructure:providers:grafana:credentials:{where}"
        assert "steers processes" in problem.expected


def test_a_backends_source_may_not_steer_either():
    tree = infrastructure({"environment": "GRAFANA_AUTH"})
    backend = {"type": "consul", "path": "{environment}/{component}", "credentials": {"environment": "LD_PRELOAD"}}
    tree["infrastructure"]["defaults"] = {"backend": backend}
    with pytest.raises(ConfigError, match="steers processes"):
        load(tree)
