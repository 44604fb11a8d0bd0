"""salt/orchestrate: succeeds when the run does, fails when it fails, and never destroys by accident."""

from __future__ import annotations

import pytest

from tests.support.salt_local import SaltRun

MODULE = """
variable "text" {
  type = string
}
resource "terraform_data" "this" {
  input = var.text
  lifecycle {
    precondition {
      condition     = var.text != "broken"
      error_message = "this one is meant to fail"
    }
  }
}
output "text" {
  value = terraform_data.this.output
}
"""
# What the master's own pillar has at its top, beside `infrastructure`.
MASTERS_OWN = {"component": "web", "components": {"hecate": {"port": 443}}, "site": {"rooms": [1, {"floor": 2}]}}
STEP = """
tell:
  test.succeed_without_changes:
    - comment: {{ pillar['ticket'] }}
    - require:
      - salt: deploy
"""


@pytest.fixture
def salt_run(tmp_path):
    """`salt_run(first="a")`: two components in a row on which orchestrations can be tried."""
    (tmp_path / "modules" / "note").mkdir(parents=True)
    (tmp_path / "modules" / "note" / "main.tf").write_text(MODULE)

    def make(first: str) -> SaltRun:
        components = {
            "first": {"module": "note", "variables": {"text": first}},
            "second": {"module": "note", "inputs": {"text": "@first.text"}},
        }
        pillar = {"infrastructure": {"environments": {"lab": {"components": components}}}, **MASTERS_OWN}
        return SaltRun(tmp_path, pillar, tmp_path / "modules")

    return make


def states(tmp_path):
    """Names of the components that have resources."""
    found = tmp_path.glob("state/states/lab/*/terraform.tfstate")
    return {path.parent.name for path in found if '"terraform_data"' in path.read_text()}


def test_an_environment_comes_and_goes(salt_run, tmp_path):
    salt = salt_run("hello")
    code, results = salt.orchestrate("orchestrate.deploy", environment="lab")
    assert (code, results["deploy"]["result"]) == (0, True)
    assert states(tmp_path) == {"first", "second"}

    code, results = salt.orchestrate("orchestrate.destroy", environment="lab")
    assert code == 1
    assert "salt-run infrastructure.destroy lab" in results["destroy"]["comment"]
    assert states(tmp_path) == {"first", "second"}

    code, results = salt.orchestrate("orchestrate.destroy", environment="lab", components=["second"], yes=True)
    assert (code, results["destroy"]["result"]) == (0, True)
    assert states(tmp_path) == {"first"}


def test_a_failed_deploy_fails_the_orchestration_and_no_minion_is_touched(salt_run, tmp_path):
    code, results = salt_run("broken").orchestrate(
        "orchestrate.deploy", environment="lab", target="lab-*", highstate=True
    )
    assert code == 1
    assert results["deploy"]["result"] is False
    assert "requisite" in results["refresh pillar"]["comment"]
    assert results["highstate"]["result"] is False
    assert states(tmp_path) == set()


@pytest.mark.parametrize("sls", ["orchestrate", "orchestrate.destroy"])
def test_without_an_environment_the_message_says_how_to_name_it(salt_run, sls):
    assert '{"environment": "staging"' in salt_run("hello").refusal(sls, yes=True)


def test_what_the_masters_own_pillar_has_otherwise_is_given(salt_run, tmp_path):
    """Each of these keys is in the master's own pillar, too, where it is nobody's mistake."""
    salt = salt_run("hello")
    said = salt.refusal("orchestrate.deploy", environment="lab", component="first", site={"rooms": []})
    assert "'component' is no argument of deploy. Did you mean 'components'?" in said
    assert "'site' is no argument of deploy." in said
    assert states(tmp_path) == set()
    code, results = salt.orchestrate("orchestrate.deploy", environment="lab", components=["first"], component="web")
    assert (code, results["deploy"]["result"]) == (0, True)
    assert states(tmp_path) == {"first"}


@pytest.mark.parametrize(
    ("sls", "given"),
    [
        ("include:\n  - orchestrate.deploy\n" + STEP, {"own_keys": ["ticket"]}),
        ("{%- set own_keys = ['ticket'] %}\n{%- include 'orchestrate/deploy.sls' %}\n" + STEP, {}),
    ],
    ids=["Salt's include", "Jinja's include"],
)
def test_an_sls_that_includes_ours_lists_its_own_keys(salt_run, tmp_path, sls, given):
    salt = salt_run("hello")
    (tmp_path / "sls").mkdir()
    (tmp_path / "sls" / "release.sls").write_text(sls)
    code, results = salt.orchestrate("release", environment="lab", ticket="X-1", dry_run=True, **given)
    assert (code, results["tell"]["comment"]) == (0, "X-1")
    assert "'tickt' is no argument of deploy. Did you mean 'ticket'?" in salt.refusal(
        "release", environment="lab", ticket="X-1", tickt="X-2", **given
    )


def test_a_highstate_of_no_minions_is_refused(salt_run):
    assert "target names no minions" in salt_run("hello").refusal(
        "orchestrate.deploy", environment="lab", highstate=True
    )


def test_preflight_comes_before_the_deploy(salt_run, tmp_path):
    code, results = salt_run("hello").orchestrate("orchestrate", environment="lab")
    assert (code, {name: each["result"] for name, each in results.items()}) == (
        0,
        {"preflight": True, "deploy": True},
    )
    assert results["preflight"]["__run_num__"] < results["deploy"]["__run_num__"]
    assert states(tmp_path) == {"first", "second"}
