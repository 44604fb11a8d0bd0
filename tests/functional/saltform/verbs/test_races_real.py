"""Two masters deploy the same environment at once, again and again: never two applies of one component at one time.

The applies themselves keep the ledger: a line when one begins, a line when it ends. Terraform's own state locks are
off, so that only ours are between them. SALTFORM_RACE_ROUNDS changes how many rounds there are (`make races`).
"""

from __future__ import annotations

import os

import pytest

from tests.support import masters
from tests.support.postgres import postgres
from tests.support.racing_master import RacingMaster

ROUNDS = int(os.environ.get("SALTFORM_RACE_ROUNDS", "25"))
LEDGER = """
variable "round" { type = number }
variable "ledger" { type = string }
variable "name" { type = string }
resource "terraform_data" "this" {
  triggers_replace = var.round
  provisioner "local-exec" {
    command     = "echo begin $WHAT >> ${var.ledger}; sleep 0.1; echo end $WHAT >> ${var.ledger}"
    environment = { WHAT = "${var.name} ${var.round}" }
  }
}
"""


@pytest.fixture
def racing(tmp_path, monkeypatch):
    for name, value in masters.LOGIN.items():
        monkeypatch.setenv(name, value)
    made = []
    with postgres() as database, masters.states() as states:
        address = masters.schema(database, "races")
        for name in ("one", "other"):
            world = masters.master(tmp_path / name, address, states)
            world.module("ledger", LEDGER)
            made.append(RacingMaster(world))
        try:
            yield made
        finally:
            for each in made:
                each.close()


def test_never_two_applies_of_one_component_at_one_time(racing, tmp_path):
    ledger = tmp_path / "ledger"
    met = 0
    for number in range(1, ROUNDS + 1):
        components = {
            name: {"module": "ledger", "variables": {"round": number, "ledger": str(ledger), "name": name}}
            for name in ("a", "b")
        }
        if number % 2:
            components["b"]["needs"] = ["a"]
        options = {"wait": "2m"} if number % 3 else {}
        for each in racing:
            each.deploy(components, options)
        answers = [each.answer() for each in racing]
        codes = [answer["retcode"] for answer in answers]
        assert set(codes) <= ({0} if options else {0, 75}), answers
        lines = [line.split() for line in ledger.read_text().splitlines() if line.endswith(f" {number}")]
        for name in ("a", "b"):
            assert [word for word, each, _ in lines if each == name] == ["begin", "end"], (
                number,
                name,
                lines,
                answers,
            )
        statuses = [step["status"] for answer in answers for step in answer["steps"].values()]
        met += 75 in codes or ("applied" in statuses and "unchanged" in statuses)
    assert met  # otherwise they never were at it at the same time
