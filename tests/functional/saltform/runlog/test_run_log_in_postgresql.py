"""The run log in a real PostgreSQL: the same contract as the file's, and what can only go wrong there."""

from __future__ import annotations

import pytest

from saltform.errors import RunLogError
from saltform.runlog import RunLog
from tests.support.runlog_contract import RunLogContract, run


@pytest.fixture
def open_log(address):
    context = []

    def make():
        context.append(RunLog(address))
        return context[-1]

    yield make
    for log in context:
        log.close()


class TestPostgresql(RunLogContract):
    """All of it."""


def test_a_connection_that_broke_is_opened_anew(open_log, server):
    log = open_log()
    for number in range(1, 4):
        log.begin(run(str(number)))
        server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'saltform';")
    assert [item.id for item in log.runs()] == ["3", "2", "1"]


def test_a_statement_on_which_the_connection_breaks_is_asked_once_more(open_log, server):
    log = open_log()
    log.begin(run("1"))
    connection, asked = log._database._connection, []

    def break_on_it(database, *given):
        asked.append(given)
        if len(asked) == 1:
            connection.close()
        return execute(database, *given)

    execute = type(log._database)._execute
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(log._database), "_execute", break_on_it)
        assert [item.id for item in log.runs()] == ["1"]
    assert len(asked) == 2


def test_a_transaction_whose_connection_broke_leaves_nothing(open_log, server):
    log = open_log()
    log.begin(run("1"))
    with pytest.raises(RunLogError), log._database.transaction():
        log.begin(run("2"))
        server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'saltform';")
        log.begin(run("3"))
    assert [item.id for item in log.runs()] == ["1"]


def test_texts_are_ordered_as_in_a_file_whatever_the_language(open_log):
    log = open_log()
    for name in ("1", "1-rollback", "B", "a", "_"):
        log.begin(run(name))
    assert [item.id for item in log.runs()] == sorted(["1", "1-rollback", "B", "a", "_"], reverse=True)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ada:hush-hush-hush@127.0.0.1:1/saltform",
        "postgresql://ada:hush-hush-hush@[::1/saltform",
        "postgresql://ada:x/hush-hush-hush@127.0.0.1/saltform",
    ],
)
def test_a_password_in_the_address_is_in_no_message(address):
    with pytest.raises(RunLogError) as caught:
        RunLog(address)
    assert "hush" not in str(caught.value)
    assert caught.value.fix


def test_the_password_can_be_left_to_the_master(server, monkeypatch, tmp_path):
    """PGPASSFILE and PGPASSWORD are libpq's own; a server that wants one gets it."""
    server.sql("CREATE ROLE keeper LOGIN SUPERUSER PASSWORD 'hush-hush-hush';")
    address = server.database("kept").replace("//postgres:@", "//keeper@")
    server.ask_for_password("keeper")
    passwords = tmp_path / "pgpass"
    passwords.write_text("*:*:kept:keeper:hush-hush-hush\n")
    passwords.chmod(0o600)
    with pytest.raises(RunLogError, match="password"):
        RunLog(address)
    RunLog(f"{address}&passfile={passwords}").close()
    monkeypatch.setenv("PGPASSWORD", "hush-hush-hush")
    RunLog(address).close()
