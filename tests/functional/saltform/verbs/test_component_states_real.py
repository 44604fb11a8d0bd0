"""A component as a state, with a real terraform: what a test says is what a run does, and the other way round."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from saltform.config import Settings
from saltform.engine.services import Services
from saltform.errors import NotAllowed, SaltformError
from saltform.verbs import component_states as states

BASE = """
variable "name" { type = string }
variable "command" {
  type    = string
  default = "true"
}
resource "terraform_data" "this" { input = var.name }
resource "terraform_data" "second" {
  input = terraform_data.this.id
  provisioner "local-exec" { command = var.command }
}
output "name" { value = var.name }
output "ports" { value = [8200, 8201] }
output "password" {
  value     = "hush-hush-hush"
  sensitive = true
}
"""
APP = """
variable "base" { type = string }
resource "terraform_data" "this" { input = var.base }
"""


class Place:
    """A pillar to change, and the states of its components."""

    def __init__(self, folder: Path) -> None:
        for name, text in {"base": BASE, "app": APP}.items():
            (folder / "modules" / name).mkdir(parents=True)
            (folder / "modules" / name / "main.tf").write_text(text)
        self.settings = Settings(folder / "state", (folder / "modules",))
        self.roles: dict[str, Any] | None = None
        self.author = "ada"
        self.components: dict[str, Any] = {
            "base": {"module": "base", "variables": {"name": "one"}},
            "app": {"module": "app", "inputs": {"base": "@base.name"}},
        }

    def __call__(self, function: str, *arguments: Any, test: bool = False) -> dict[str, Any]:
        environments = {"staging": {"components": copy.deepcopy(self.components)}}
        pillar = {"infrastructure": {"environments": environments, "roles": self.roles}}
        services = Services(self.settings, pillar, author=self.author)
        try:
            found: dict[str, Any] = getattr(states, function)(services, *arguments, test)
        finally:
            services.close()
        return found


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_test_shows_the_changes_that_the_run_then_makes(place: Place) -> None:
    planned = place("present", "staging/base", {}, test=True)
    assert planned["result"] is None
    done = place("present", "staging/base", {})
    assert done["result"] is True
    assert planned["changes"] == done["changes"]
    assert {"terraform_data.this", "terraform_data.second"} < set(done["changes"])
    for test in (True, False):
        again = place("present", "staging/base", {}, test=test)
        assert (again["result"], again["changes"]) == (True, {})


def test_a_test_with_refresh_is_exact_too(place: Place) -> None:
    place("present", "staging/base", {})
    again = place("present", "staging/base", {"refresh": True}, test=True)
    assert (again["result"], again["changes"]) == (True, {})


def test_an_output_that_changes_alone_is_a_change(place: Place) -> None:
    place("present", "staging/base", {})
    module = place.settings.modules[0] / "base" / "main.tf"
    module.write_text(module.read_text().replace("8201", "8300"))
    planned = place("present", "staging/base", {}, test=True)
    assert (planned["result"], planned["changes"]) == (None, {"outputs": {"ports": "update"}})
    assert place("present", "staging/base", {})["changes"] == planned["changes"]


def test_a_component_whose_upstream_is_not_there_is_deferred_in_a_test_and_fails_in_a_run(place: Place) -> None:
    planned = place("present", "staging/app", {}, test=True)
    assert planned["result"] is None
    assert "base" in planned["comment"]
    assert planned["changes"]
    done = place("present", "staging/app", {})
    assert (done["result"], done["changes"]) == (False, {})
    assert "components=base" in done["comment"]


def test_a_failure_shows_only_what_was_done_before_it(place: Place) -> None:
    place.components["base"]["variables"]["command"] = "false"
    failed = place("present", "staging/base", {})
    assert failed["result"] is False
    assert failed["changes"] == {"terraform_data.this": "create"}
    assert "local-exec" in failed["comment"]


def test_absent_shows_and_then_destroys(place: Place) -> None:
    assert place("absent", "staging/base", {})["result"] is True
    place("present", "staging/base", {})
    planned = place("absent", "staging/base", {}, test=True)
    assert planned["result"] is None
    assert planned["changes"] == {"terraform_data.this": "delete", "terraform_data.second": "delete"}
    done = place("absent", "staging/base", {})
    assert done["result"] is True
    assert planned["changes"].items() <= done["changes"].items()
    for test in (True, False):
        again = place("absent", "staging/base", {}, test=test)
        assert (again["result"], again["changes"]) == (True, {})


def test_absent_removes_an_orphan_and_stays_true_afterwards(place: Place) -> None:
    place("present", "staging/base", {})
    place.components = {"app": {"module": "app", "variables": {"base": "none"}}}
    assert place("absent", "staging/base", {})["changes"]
    assert place("absent", "staging/base", {}) == {
        "name": "staging/base",
        "result": True,
        "changes": {},
        "comment": "staging/base is not there",
    }


def test_absent_is_refused_for_what_is_needed_or_stateful(place: Place) -> None:
    place("present", "staging/base", {})
    place("present", "staging/app", {})
    for test in (True, False):
        with pytest.raises(SaltformError, match="still needed"):
            place("absent", "staging/base", {}, test=test)
    place.components["app"]["stateful"] = True
    for test in (True, False):
        with pytest.raises(SaltformError, match="stateful"):
            place("absent", "staging/app", {}, test=test)
    assert place("absent", "staging/app", {"preserve_data": False})["result"] is True


@pytest.mark.parametrize(
    ("output", "condition", "holds"),
    [
        ("name", {}, True),
        ("nothing", {}, False),
        ("nothing", {"exists": False}, True),
        ("name", {"exists": False}, False),
        ("name", {"equals": "one"}, True),
        ("name", {"equals": "two"}, False),
        ("name", {"matches": "^o.e$"}, True),
        ("name", {"matches": "^x"}, False),
        ("ports", {"equals": [8200, 8201]}, True),
        ("ports", {"equals": ["8200", "8201"]}, False),
        ("ports", {"matches": r"\b8201\b"}, True),
        ("nothing", {"matches": ".*"}, False),
        ("password", {"equals": "hush-hush-hush"}, True),
        ("password", {"equals": "wrong"}, False),
        ("password", {"matches": "^loud"}, False),
    ],
)
def test_conditions_on_outputs(applied: Place, output: str, condition: dict[str, Any], holds: bool) -> None:
    for test in (True, False):
        found = applied("output", f"staging/base.{output}", condition, test=test)
        assert (found["result"], found["changes"]) == (holds, {})
        assert "hush" not in found["comment"]


@pytest.mark.parametrize("condition", [{"equals": "hush-hush-hush"}, {"matches": "^h"}, {"matches": "^x"}], ids=str)
def test_a_viewer_guesses_no_sensitive_value(applied: Place, condition: dict[str, Any]) -> None:
    applied.roles = {"viewer": {"staging": ["vic"]}, "deployer": {"staging": ["dora"]}}
    try:
        applied.author = "vic"
        assert applied("output", "staging/base.password", {})["result"] is True
        assert applied("output", "staging/base.name", {"equals": "one"})["result"] is True
        with pytest.raises(NotAllowed, match="vic may not present in staging"):
            applied("output", "staging/base.password", condition)
        applied.author = "dora"
        assert applied("output", "staging/base.password", condition)["result"] is (condition != {"matches": "^x"})
    finally:
        applied.roles = None


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("applied"))
    place("present", "staging/base", {})
    return place


def test_a_condition_can_not_be_known_in_a_test_while_changes_are_pending(place: Place) -> None:
    assert place("output", "staging/base.name", {}, test=True)["result"] is None
    assert place("output", "staging/base.name", {})["result"] is False


def test_a_condition_that_makes_no_sense_is_an_error(applied: Place) -> None:
    with pytest.raises(SaltformError, match="bad argument"):
        applied("output", "staging/base.name", {"matches": "("})


def test_an_unknown_component_is_an_error_and_no_condition(applied: Place) -> None:
    with pytest.raises(SaltformError, match="unknown component"):
        applied("output", "staging/bsae.name", {"exists": False})
    with pytest.raises(SaltformError, match="not an output"):
        applied("output", "staging/base", {})
