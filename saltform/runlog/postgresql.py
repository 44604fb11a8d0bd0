"""The run log in PostgreSQL, for several masters.

1. The address is a URL without a password by choice: libpq finds that in PGPASSFILE, ~/.pgpass or PGPASSWORD of the
   master, or in the file that `?passfile=` names. One that stands in the URL is never in a message.
2. A connection that broke is not mended in silence: the statement fails, because whoever held locks has lost them.
   The next statement connects anew.
3. A host that vanished is noticed by both sides within half a minute.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Sequence
from typing import Any

from saltform.errors import RunLogError
from saltform.runlog.database import Database

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.rows import dict_row
except ImportError as missing:
    raise RunLogError(
        "the run log can't be used",
        f"it is in PostgreSQL, and psycopg is not installed here ({missing})",
        "salt-pip install 'saltform[postgresql]'",
    ) from None

_MIGRATING = 0x73616C74  # whoever holds this advisory lock changes the schema
# What the address doesn't say itself. libpq's side of noticing that the server is gone:
_CONNECTION = {
    "application_name": "saltform",
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
# The server's side of noticing that we are gone, so that our locks are free; and no statement takes this long.
_SESSION = (
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;"
    "SET statement_timeout = '30s'; SET synchronous_commit = 'on'; SET client_min_messages = 'warning'"
)


class PostgresDatabase(Database):
    """A connection that is opened when it is first needed, and again after it broke."""

    one_view = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"

    fix = (
        "check that the database is up and that this master may log in (PGPASSFILE or PGPASSWORD);"
        " nothing that ran before this is lost"
    )

    shared = True
    share = " FOR SHARE"

    def __init__(self, url: str) -> None:
        super().__init__()
        given = _read(url)
        self._parameters: dict[str, Any] = {**_CONNECTION, **given}
        self.name = "postgresql://{user}{host}{port}/{dbname}".format(
            user=f"{given['user']}@" if "user" in given else "",
            host=given.get("host", ""),
            port=f":{given['port']}" if "port" in given else "",
            dbname=given.get("dbname", ""),
        )
        self._lasting = True
        self._connection: psycopg.Connection[dict[str, Any]] | None = None
        try:
            with self._speaking():
                self._migrate()
        except RunLogError:
            self.close()
            raise

    def close(self) -> None:
        with self._lock:
            self._hang_up()

    def try_lock(self, key: int) -> int | None:
        with self._lock:
            taken = self.rows("SELECT pg_try_advisory_lock(?) AS taken", (key,))[0]["taken"]
            return self.session if taken else None

    def unlock(self, key: int, session: int) -> None:
        with self._lock, contextlib.suppress(RunLogError):  # it is gone with the session then
            if self.session == session and self._connection is not None:
                self.rows("SELECT pg_advisory_unlock(?)", (key,))

    def locked(self, keys: Sequence[int]) -> list[int]:
        if not keys:
            return []
        rows = self.rows(
            "SELECT (classid::bigint << 32) | objid::bigint AS key FROM pg_locks WHERE locktype = 'advisory'"
            " AND granted AND objsubid = 1"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
        held = {row["key"] for row in rows}
        return [key for key in keys if key in held]

    def sockets(self) -> tuple[int, ...]:
        with self._lock:
            return () if self._connection is None else (self._connection.fileno(),)

    def _execute(self, sql: str, values: Sequence[Any] = ()) -> psycopg.Cursor[dict[str, Any]]:
        if self._connection is None:
            self._connection = psycopg.connect(**self._parameters, autocommit=True, row_factory=dict_row)
            self._connection.execute(_SESSION)
            self.session += 1
            self._lasting = True
        try:
            if not values:  # then nothing in it is a placeholder
                return self._connection.execute(sql.encode())
            return self._connection.execute(_placeholders(sql), tuple(values))
        except psycopg.Error:
            if self._connection.closed:
                self._hang_up()
            raise

    def _sync(self, lasting: bool) -> None:
        connection = self._connection
        if connection is None or connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            return  # a new one begins with what lasts
        if lasting != self._lasting:
            self._execute(f"SET synchronous_commit = {'on' if lasting else 'off'}")
            self._lasting = lasting

    def _roll_back(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(psycopg.Error):  # the error that made us go back is the one to hear about
                self._execute("ROLLBACK")

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _is_ours(self, error: Exception) -> bool:
        return isinstance(error, psycopg.Error)

    def _own_words(self, statement: str) -> str:
        """Texts are ordered as SQLite orders them, whatever the database's language."""
        return re.sub(r"\bTEXT\b", 'TEXT COLLATE "C"', statement)

    def _alone(self) -> None:
        self._execute("SELECT pg_advisory_xact_lock(?)", (_MIGRATING,))
        self._execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")

    def _version(self) -> int:
        try:
            found = self._execute("SELECT coalesce(max(version), 0) AS version FROM schema_version").fetchall()
        except psycopg.errors.UndefinedTable:
            return 0
        version: int = found[0]["version"]
        return version

    def _set_version(self, number: int) -> None:
        self._execute("INSERT INTO schema_version (version) VALUES (?)", (number,))


def _read(url: str) -> dict[str, str]:
    """The parts of the address. Nothing of one that can't be read is quoted: a password may be anywhere in it."""
    try:
        given = {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
    except psycopg.Error:
        given = {}
    if not given or not given.get("port", "1").isdecimal() or "@" in given.get("dbname", ""):
        raise RunLogError(
            "the run log can't be used",
            "infrastructure:runlog is not an address that PostgreSQL understands",
            "postgresql://USER@HOST:PORT/DATABASE, with special letters written as %40 and the like",
        )
    return given


@functools.cache
def _placeholders(sql: str) -> bytes:
    return sql.replace("%", "%%").replace("?", "%s").encode()
