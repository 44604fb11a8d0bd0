"""`dry_run=True` on every verb that changes something: it says what would happen, and nothing is different after."""

from __future__ import annotations

import ast
import hashlib
import sqlite3
from pathlib import Path

RUNNER = Path(__file__).parents[4] / "salt" / "_runners" / "infrastructure.py"
# They change nothing, but for what they are there to write: copies of the states, reports, backups, who was reminded.
# `accept_key` and `request` are called by a reactor, for a minion, and by nobody who would want to know.
QUESTIONS = set(
    "validate plan preflight credentials graph status outputs history show log locks report audit approvals "
    "releases diff keys sync_states backup accept_key request".split()
)


def test_every_verb_that_changes_something_has_it():
    verbs = {node.name: node for node in ast.parse(RUNNER.read_text()).body if isinstance(node, ast.FunctionDef)}
    lacking = [
        name
        for name, node in verbs.items()
        if not name.startswith("_")
        and name not in QUESTIONS
        and "dry_run" not in [argument.arg for argument in node.args.args]
    ]
    assert lacking == []


def kept(world):
    """Everything on record but for the runs that plans themselves are, and every state."""
    with sqlite3.connect(world.state_dir / "runs.sqlite") as connection:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {
            table: sorted(map(repr, connection.execute(f"SELECT * FROM {table}")))
            for table in tables
            if table not in ("runs", "steps")
        }
        rows["runs"] = sorted(map(repr, connection.execute("SELECT id, status FROM runs WHERE verb = 'deploy'")))
    connection.close()
    states = world.state_dir.glob("states/**/*.tfstate")
    return rows, {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in states}


def test_a_dry_run_says_what_would_happen_and_changes_nothing(staging):
    staging.components["bad"] = {"module": "shell", "variables": {"command": "exit 3"}}
    failed = staging.deploy()["run"]
    del staging.components["bad"]
    before = kept(staging)

    resumed = staging.call("resume", failed, "True")
    assert resumed["summary"].endswith("would go on with bad")
    assert (resumed["components"]["networking"], resumed["components"]["bad"]) == ("unchanged", "failed")
    assert "would be abandoned" in staging.call("abandon", failed, True)["summary"]
    assert staging.call("cancel", failed, None, True)["error"]["summary"] == f"run {failed} doesn't run"
    unlocked = staging.call("unlock", "staging", "networking", "why", "True")
    assert unlocked["summary"] == "staging/networking: nobody holds it"
    note = staging.state_dir / "states" / "staging" / "networking" / ".terraform.tfstate.lock.info"
    note.write_text('{"ID": "1", "Who": "ada@elsewhere", "Operation": "apply"}')
    assert (
        "it would be removed if a dead run of ours left it"
        in staging.call("unlock", "staging", "networking", "why", "True")["summary"]
    )
    assert note.exists()
    note.unlink()
    assert staging.processes.commands() == []
    assert kept(staging) == before
