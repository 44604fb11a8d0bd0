"""The audit of real runs: who asked for what, what was about to be applied, and how it ended."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import sqlite3
import threading

from saltform.engine import audit
from saltform.report import text
from saltform.runlog.audit import Anchor


def entries(world, **given):
    return world.call("audit", "staging", *given.values())["entries"]


def test_the_life_of_an_environment_is_in_the_audit_and_no_secret(staging):
    """Two components are applied, found unchanged, planned, and destroyed; and then somebody changes the record."""
    began = entries(staging)
    assert [item["action"] for item in began] == ["apply", "apply", "deploy"]
    applied, _, deployed = began
    assert applied["content"]["component"] == "networking"
    assert len(applied["content"]["plan"]) == len(hashlib.sha256().hexdigest())
    assert deployed["content"]["components"]["networking"]["release"] == applied["content"]["release"]
    assert deployed["content"]["components"]["networking"]["status"] == "applied"
    assert (deployed["author"], deployed["content"]["asked_by"], deployed["content"]["status"]) == (
        "ada",
        "ada",
        "done",
    )

    staging.author = "grace"
    assert staging.deploy()["retcode"] == 0
    assert staging.plan()["retcode"] == 0
    assert staging.deploy(dry_run=True)["retcode"] == 0
    (noop,) = entries(staging)[3:]
    assert (noop["action"], noop["author"]) == ("deploy", "grace")
    assert (noop["content"]["unchanged"], noop["content"]["components"]) == (2, {})

    assert staging.destroy()["retcode"] == 0
    assert [item["action"] for item in entries(staging)[4:]] == ["apply", "apply", "destroy"]

    checked = staging.call("audit", None, None, True, None)
    assert (checked["retcode"], checked["problems"]) == (0, [])
    assert "7 entries: nothing was changed and nothing is missing" in text.render(checked)
    assert "hush" not in str(checked)

    written = staging.call("audit", "staging", "1h", None, "csv")
    rows = list(csv.DictReader(io.StringIO(text.render(written))))
    assert [row["author"] for row in rows] == ["ada"] * 3 + ["grace"] * 4
    assert staging.call("audit", "staging", "2999-01-01", None, None)["entries"] == []

    with sqlite3.connect(staging.state_dir / "runs.sqlite") as connection:
        connection.execute("UPDATE audit SET author = 'mallory' WHERE number = 3")
    connection.close()
    forged = staging.call("audit", "staging", None, "True", None)
    assert (forged["retcode"], forged["success"]) == (1, False)
    assert "entry 3 was changed" in forged["problems"][0]["problem"]
    assert "✗ staging: entry 3 was changed" in text.render(forged)


def test_a_chain_that_was_wiped_out_is_missed(staging):
    with sqlite3.connect(staging.state_dir / "runs.sqlite") as connection:
        connection.execute("DELETE FROM audit")
        connection.execute("DELETE FROM audit_heads")
    connection.close()
    assert "missing at the end: entries 1 to 3" in staging.call("audit", None, None, True)["problems"][0]["problem"]


def test_bad_questions_are_refused(staging):
    assert staging.call("audit", "stagin")["error"]["detail"].endswith("Did you mean 'staging'?")
    assert staging.call("audit", "staging", "yesterday")["error"]["summary"] == "bad argument 'since'"
    assert staging.call("audit", "staging", None, None, "xml")["error"]["summary"] == "bad argument 'format'"


def test_an_environment_that_nobody_has_touched_yet_has_no_entries(world):
    found = world.call("audit", "staging", None, True)
    assert (found["retcode"], found["entries"], found["problems"]) == (0, [], [])


def anchor(world):
    return json.loads((world.state_dir / "audit" / "staging.json").read_bytes())


def test_the_anchor_never_goes_back_when_two_write_at_once(world, monkeypatch):
    """Whoever adds the older entry may be the last to say how far the chain goes."""
    services = world.services()
    append, first, second = services.runlog.audit.append, threading.Event(), threading.Event()

    class Slow:
        """The first entry's writer is held up after its entry is in the chain."""

        has = services.runlog.audit.has

        @staticmethod
        def append(*given):
            found = append(*given)
            if found.number == 1:
                first.set()
                assert second.wait(20)
            return found

    monkeypatch.setattr(type(services.runlog), "audit", Slow())
    slow = threading.Thread(target=audit.note, args=(services, "staging", "first"))
    slow.start()
    assert first.wait(20)
    audit.note(services, "staging", "second")
    second.set()
    slow.join()
    services.close()
    assert anchor(world)["number"] == 2


def test_the_anchor_of_a_chain_that_was_cut_off_stays_the_proof(world):
    services = world.services()
    for number in range(4):
        audit.note(services, "staging", f"note {number}")
    kept = anchor(world)
    first = services.runlog.audit.entries("staging")[0]
    services.runlog._database.write("DELETE FROM audit WHERE number > 1")
    services.runlog._database.write("UPDATE audit_heads SET number = 1, hash = ?", (first.hash,))
    for number in range(6):  # beyond where it was
        audit.note(services, "staging", f"forged {number}")
    services.close()
    assert anchor(world) == kept
    found = world.call("audit", "staging", None, True, None)
    assert found["retcode"] == 1 and "entry 4 is not the one that this host's anchor names" in str(found)


def test_the_anchor_goes_on_with_the_chain(world):
    services = world.services()
    for _ in range(3):
        audit.note(services, "staging", "note")
    assert Anchor(**anchor(world)) == services.runlog.audit.head("staging")
    services.close()
