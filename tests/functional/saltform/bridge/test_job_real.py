"""Who sent a job, by the notes that Salt's minion writes about its jobs."""

from __future__ import annotations

import multiprocessing
import os
import pwd
import time

import pytest

from saltform.bridge.job import Job, current_job, minion_options
from saltform.errors import SaltformError

SENT = {"fun": "state.apply", "arg": [], "tgt": "home", "tgt_type": "glob", "ret": ""}


@pytest.fixture
def note(tmp_path):
    """Writes notes as the minion does."""
    import salt.payload

    (tmp_path / "proc").mkdir()

    def write(jid="1", pid=None, **words):
        path = tmp_path / "proc" / jid
        path.write_bytes(salt.payload.dumps({"jid": jid, "pid": pid or os.getpid(), **words}))
        return path

    return write


@pytest.fixture
def author(tmp_path):
    return lambda **options: current_job({"cachedir": str(tmp_path), **options}).author


def salts_function(name, module):
    """A function that Salt has, which calls ours."""
    space = {"__name__": module, "minion_options": minion_options}
    exec(f"def {name}(opts, given):\n    return minion_options(given)\n", space)
    return space[name]


@pytest.mark.parametrize(
    ("words", "who"),
    [
        ({**SENT, "user": "dora"}, "dora"),
        ({**SENT, "user": "root"}, "root"),
        ({**SENT, "user": "sudo_jo"}, "sudo_jo"),
        ({**SENT, "user": "root", "id": "web-1"}, "minion web-1"),
        ({**SENT, "user": "salt", "id": "web-1"}, "minion web-1"),
        ({**SENT, "user": "sudo_jo", "id": "web-1"}, "minion web-1"),
        ({"fun": "state.apply", "id": "home", "schedule": "nightly", "fun_args": []}, "schedule"),
        ({"fun": "state.highstate", "arg": [], "ret": ""}, "schedule"),  # start-up states
        ({**SENT, "user": "dora", "kwarg": {}}, "dora"),  # waited in the queue
        ({**SENT, "tgt": "salt-call", "user": "dora"}, "dora"),
    ],
)
def test_a_note_says_who(note, author, words, who):
    note(**words)
    assert author() == who


def test_at_a_shell_it_is_the_user_there_and_nowhere_else(note, author, monkeypatch):
    note(fun="state.apply", tgt="salt-call")
    monkeypatch.setenv("SUDO_USER", "jo")
    assert author() == ("sudo_jo" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name)
    note(fun="state.apply", tgt="home")
    assert author() == "schedule"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({**SENT, "user": "vic", "id": "web-1"}, "sent by vic"),
        ({**SENT, "user": "root", "kwarg": {}}, "queue=True"),
        ({**SENT, "user": "sudo_jo", "kwarg": {}}, "queue=True"),
        ({**SENT, "tgt": "salt-call", "user": "dora", "kwarg": {}}, "queue=True"),  # with __pub_user=dora
        ({**SENT, "tgt": None, "user": "dora", "kwarg": {}}, "queue=True"),
    ],
)
def test_a_note_that_could_be_anybodys_is_nobodys(note, author, words, why):
    note(**words)
    with pytest.raises(SaltformError, match="who sent this job can't be told") as caught:
        author()
    assert why in str(caught.value)


def test_without_a_note_nobody_is_the_author(note, author):
    note(pid=1 << 22, user="root")
    with pytest.raises(SaltformError, match="who sent this job can't be told"):
        author()


def test_a_child_belongs_to_the_job_of_its_parent(note, author):
    note(**SENT, user="vic")
    queue = multiprocessing.get_context("fork").SimpleQueue()
    child = multiprocessing.get_context("fork").Process(target=lambda: queue.put(author()))
    child.start()
    child.join(30)
    assert queue.get() == "vic"


def test_a_salt_call_that_a_job_started_is_part_of_that_job(note, author):
    """As Salt's sudo executor does it, which any job may name."""
    note("1", **SENT, pid=os.getppid(), user="vic")
    note("2", fun="state.apply", tgt="salt-call")
    assert author() == "vic"


def test_the_nearest_job_counts(note, author):
    """The minion's own process has a note while it works on its schedule."""
    note("1", pid=os.getppid(), fun="state.apply", schedule="nightly", id="home")
    note("2", **SENT, user="vic")
    assert author() == "vic"


def test_a_note_of_a_process_that_had_this_id_before_does_not_count(note, author):
    old = note("1", fun="state.apply", tgt="salt-call")
    os.utime(old, (time.time() - 1e6, time.time() - 1e6))
    with pytest.raises(SaltformError, match="can't be told"):
        author()
    note("2", **SENT, user="vic")
    assert author() == "vic"


def test_of_two_notes_neither_counts(note, author):
    note("1", **SENT, user="root")
    note("2", **SENT, user="vic")
    with pytest.raises(SaltformError, match="can't be told"):
        author()


def test_jobs_that_share_a_process_are_refused_and_a_salt_call_shares_none(note, tmp_path):
    shared = {"cachedir": str(tmp_path), "multiprocessing": False}
    note(**SENT, user="dora")
    with pytest.raises(SaltformError, match="multiprocessing: False is refused"):
        current_job(shared)
    note(fun="state.apply", tgt="salt-call")
    assert current_job(shared).salt_call


def test_what_is_no_note_is_passed_over(note, tmp_path):
    note(**SENT, user="dora")
    (tmp_path / "proc" / "2").write_bytes(b"")
    (tmp_path / "proc" / "3").write_bytes(b"\xc1half a note")
    (tmp_path / "proc" / "4").mkdir()
    assert current_job({"cachedir": str(tmp_path)}) == Job("1", "dora", False)


@pytest.mark.parametrize(
    ("name", "module"), [("_thread_return", "salt.minion"), ("_thread_multi_return", "salt.minion")]
)
def test_the_options_are_those_that_salt_runs_the_job_with(name, module):
    own = {"conf_file": "/etc/salt/minion", "pillarenv": "base"}
    found = salts_function(name, module)(own, {"conf_file": "/etc/salt/minion", "pillarenv": "lax"})
    assert found == own
    assert found is not own


def test_options_from_another_file_are_refused():
    called = salts_function("_thread_return", "salt.minion")
    with pytest.raises(SaltformError, match="localconfig is refused") as caught:
        called({"conf_file": "/etc/salt/minion"}, {"conf_file": "/tmp/mine.yml"})
    assert "/tmp/mine.yml" in caught.value.detail


@pytest.mark.parametrize(("name", "module"), [("_thread_return", "mine"), ("other", "salt.minion")])
def test_outside_of_a_job_there_are_no_options(name, module):
    with pytest.raises(SaltformError, match="who sent this job can't be told"):
        salts_function(name, module)({"conf_file": "x"}, {"conf_file": "x"})
