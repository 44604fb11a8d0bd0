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
        pillar = {"infrastructure": {"environments": {"lab": {"components": components}}}}
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
    code, results = salt_run("hello").orchestrate(sls, yes=True)
    assert code == 1
    [result] = results.values()
    assert '{"environment": "staging"' in result["comment"]


def test_preflight_comes_before_the_deploy(salt_run, tmp_path):
    code, results = salt_run("hello").orchestrate("orchestrate", environment="lab")
    assert (code, {name: each["result"] for name, each in results.items()}) == (
        0,
        {"preflight": True, "deploy": True},
    )
    assert results["preflight"]["__run_num__"] < results["deploy"]["__run_num__"]
    assert states(tmp_path) == {"first", "second"}
