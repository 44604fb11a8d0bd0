"""What terraform prints when it fails, as data and as an error with a fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from saltform.errors import StalePlan, TerraformError
from saltform.terraform.diagnostics import failure, from_text

BOXES = """\
Initializing the backend...
╷
│ Warning: Deprecated thing
│
│ Use another.
╵
╷
│ Error: Failed to query available provider packages
│
│ Could not retrieve the list of available versions for provider hashicorp/aws:
│ no available releases match the given constraints 9.9.9
╵
""".splitlines()


def error(diagnostics=(), tail="", exit_code=1, workspace=Path("/nowhere")):
    return failure("apply", "staging/net", exit_code, list(diagnostics), tail, workspace)


def said(summary, detail=""):
    return {"severity": "error", "summary": summary, "detail": detail}


def test_boxes_become_diagnostics():
    warning, problem = from_text(BOXES)
    assert warning == {"severity": "warning", "summary": "Deprecated thing", "detail": "Use another."}
    assert problem["summary"] == "Failed to query available provider packages"
    assert problem["detail"].endswith("match the given constraints 9.9.9")


def test_what_is_printed_without_a_box_is_understood_too():
    assert from_text(["", "Error: Unsupported state", "because"])[0]["detail"] == "because"


def test_text_after_a_box_is_not_part_of_it():
    assert from_text([*BOXES, "Terraform has been initialized"])[1]["detail"].endswith("9.9.9")


def test_output_without_diagnostics_has_none():
    assert from_text(["all is well"]) == []


def test_an_error_says_terraforms_own_words_and_a_fix():
    text = str(error(from_text(BOXES)))
    assert "terraform apply failed for staging/net (exit code 1)" in text
    assert "no available releases match" in text
    assert "mirror: registry" in text
    assert "Deprecated" not in text, "a warning is not why it failed"


@pytest.mark.parametrize("summary", ["Saved plan is stale", "Saved plan does not match the given state"])
def test_a_stale_plan_has_its_own_type(summary):
    found = error([said(summary)])
    assert isinstance(found, StalePlan)
    assert "plan again" in found.fix


def test_a_held_state_lock_says_how_to_unlock():
    found = error([said("Error acquiring the state lock", "locked\nLock Info:\n  ID: 1234")])
    assert type(found) is TerraformError
    assert found.fix == "if its holder is dead: salt-call terraform.force_unlock staging/net 1234"


def test_without_diagnostics_the_last_lines_are_shown():
    assert "fatal: something" in error(tail="fatal: something").detail


def test_silence_is_said():
    assert error().detail == "it printed no message"


@pytest.mark.parametrize(("code", "name"), [(-11, "SIGSEGV"), (-9, "SIGKILL"), (-60, "signal 60")])
def test_an_end_by_a_signal_names_it(code, name):
    found = error(exit_code=code)
    assert f"was ended by {name}" in found.summary
    assert "dmesg" in found.fix


def test_a_state_that_could_not_be_stored_is_named(tmp_path):
    (tmp_path / "errored.tfstate").write_text("{}")
    found = error([said("Failed to save state")], workspace=tmp_path)
    assert str(tmp_path / "errored.tfstate") in found.detail
    assert "state push" in found.fix
    assert found.data["errored_state"] == str(tmp_path / "errored.tfstate")


def test_a_lock_that_failed_for_another_reason_is_not_to_be_broken():
    found = error([said("Error acquiring the state lock", "open terraform.tfstate: is a directory")])
    assert "unlock" not in found.fix


def test_a_state_that_terraform_can_not_parse_is_to_be_restored_and_not_unlocked():
    detail = "Error message: Unsupported state file format: …\nTerraform acquires a state lock …"
    assert "backup" in error([said("Error acquiring the state lock", detail)]).fix


def test_the_same_thing_is_said_once_and_without_its_preface():
    preface = said("Terraform encountered problems during initialisation, including problems", "…")
    found = error([preface, said("Invalid default"), said("Invalid default")])
    assert found.detail == "Invalid default"
    assert error([preface]).detail != "it printed no message"


def test_addresses_are_as_in_the_module():
    one = said("Instance cannot be destroyed", "Resource module.main.terraform_data.boom[0] has prevent_destroy")
    two = said("Provider said no") | {"address": "module.main.module.inner.terraform_data.boom"}
    caught = error([one, two])
    assert "Resource terraform_data.boom[0] has" in caught.detail
    assert "(module.inner.terraform_data.boom)" in caught.detail
    assert "module.main" not in str(caught)
