"""The run log in PostgreSQL, for several masters.

1. The address is a URL without a password by choice: libpq finds that in PGPASSFILE, ~/.pgpass or PGPASSWORD of the
   master, or in the file that `?passfile=` names. One that stands in the URL is never in a message.
2. A connection that broke is opened anew by the next statement. Whoever holds locks takes them again first
   (`keeper.py`), and is waited for as long as that can go well. A statement on which it broke is asked once more; a
   transaction fails as a whole, because what was said before may be lost.
3. A host that vanished is noticed by both sides within half a minute.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import select
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from saltform.errors import LostLock, RunLogError
from saltform.runlog.database import Database

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.rows import dict_row
except ImportError as missing:
    raise RunLogError(
        "the run log can't be used",
        f"it is in PostgreSQL, and psycopg is not installed here ({missing})",
        "salt-pip install 'psycopg[binary]'",
    ) from None

T = TypeVar("T")
AGAIN = 0.2  # seconds between two tries to connect
_MIGRATING = 0x73616C74  # whoever holds this advisory lock changes the schema
# What the address doesn't say itself. libpq's side of noticing that the server is gone:
_CONNECTION = {
    "application_name": "saltform",
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
# The server's side of noticing that we are gone, so that our locks are free; and no statement takes this long.
_SESSION = (
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;"
    "SET statement_timeout = '30s'; SET synchronous_commit = 'on'; SET client_min_messages = 'warning'"
)


# An advisory lock as pg_locks has it: its key in two halves.
_LOCKS = (
    "FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_KEY = "((classid::bigint << 32) | objid::bigint)"


class PostgresDatabase(Database):
    """A connection that is opened when it is first needed, and again after it broke."""

    one_view = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"

    fix = (
        "check that the database is up and that this master may log in (PGPASSFILE or PGPASSWORD);"
        " nothing that ran before this is lost"
    )

    shared = True
    share = " FOR SHARE"
    after = "to_char((clock_timestamp() + make_interval(secs => ?)) AT TIME ZONE 'UTC', "
    after += """'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"""

    def __init__(self, url: str, dead_after: float) -> None:
        super().__init__()
        given = _read(url)
        # Noticed early enough for a second try in half of that time.
        noticed = {"connect_timeout": max(2, int(dead_after / 6)), "tcp_user_timeout": int(dead_after * 250)}
        self._parameters: dict[str, Any] = {**_CONNECTION, **noticed, **given}
        self._former: list[int] = []  # the server's process for each of our sessions
        self._connecting = False
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

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._asked(lambda: Database.rows(self, sql, values), writes=False)

    def write(self, sql: str, values: Sequence[Any] = (), lasting: bool = True) -> int:
        return self._asked(lambda: Database.write(self, sql, values, lasting), writes=True)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        with self._lock:
            if not self._in_transaction():
                with self._speaking():
                    self._ready(writes=True)
            with super().transaction():
                yield

    def try_lock(self, key: int) -> bool:
        return bool(self.rows("SELECT pg_try_advisory_lock(?) AS taken", (key,))[0]["taken"])

    def unlock(self, key: int) -> None:
        with self._lock, contextlib.suppress(RunLogError):  # it is gone with the session then
            if self._connection is not None:
                self.rows("SELECT pg_advisory_unlock(?)", (key,))

    def locked(self, keys: Sequence[int]) -> list[int]:
        if not keys:
            return []
        held = {row["key"] for row in self.rows(f"SELECT {_KEY} AS key {_LOCKS}")}
        return [key for key in keys if key in held]

    def end_session(self, key: int, former: bool = False) -> bool:
        found = self.rows(f"SELECT pid {_LOCKS} AND {_KEY} = ? AND pid != pg_backend_pid()", (key,))
        wanted = [row["pid"] for row in found if not former or row["pid"] in self._former]
        for pid in wanted:
            self.rows("SELECT pg_terminate_backend(?)", (pid,))
        return bool(wanted)

    def sockets(self) -> tuple[int, ...]:
        with self._lock:
            return () if self._connection is None else (os.dup(self._connection.fileno()),)

    def _asked(self, ask: Callable[[], T], writes: bool) -> T:
        """Ask, and once more if the connection broke on it."""
        with self._lock, self._speaking():
            if self._in_transaction() or self._connecting:
                return ask()
            self._ready(writes)
            try:
                return ask()
            except RunLogError:
                if self._connection is not None:
                    raise
            self._ready(writes)
            return ask()

    def _in_transaction(self) -> bool:
        idle = psycopg.pq.TransactionStatus.IDLE
        return self._connection is not None and self._connection.info.transaction_status != idle

    def _ready(self, writes: bool) -> None:
        """Connected, and with every lock that was held before; nothing is written by whoever has lost one."""
        if self._connection is not None and self._hung_up(self._connection):
            self._hang_up()
        if self._connection is None:
            self._connect()
        if writes and self.keeper is not None and self.keeper.lost:
            raise LostLock(
                "nothing more of this run is put on record", self.keeper.lost, "salt-run infrastructure.history"
            )

    @staticmethod
    def _hung_up(connection: psycopg.Connection[dict[str, Any]]) -> bool:
        """The server rarely speaks unasked, but for its farewell: if it has, see whether it is still there."""
        waiting = select.poll()
        waiting.register(connection.fileno(), select.POLLIN)
        if not waiting.poll(0):
            return False
        try:
            connection.execute(b"SELECT 1")
        except psycopg.Error:
            return True
        return False

    def _connect(self) -> None:
        """Whoever holds locks tries again for as long as they are not lost."""
        while True:
            self._connecting = True
            try:
                self._open()
                if self.keeper is not None:
                    self.keeper.retake()
                return
            except (psycopg.OperationalError, RunLogError):
                self._hang_up()
                if self.keeper is None or time.monotonic() >= self.keeper.until:
                    raise
            finally:
                self._connecting = False
            time.sleep(AGAIN)

    def _open(self) -> None:
        self._connection = psycopg.connect(**self._parameters, autocommit=True, row_factory=dict_row)
        self._connection.execute(_SESSION)
        self._former.append(self._connection.info.backend_pid)
        self.session += 1
        self._lasting = True

    def _execute(self, sql: str, values: Sequence[Any] = ()) -> psycopg.Cursor[dict[str, Any]]:
        if self._connection is None:
            self._connect()
        connection = self._connection
        assert connection is not None  # noqa: S101
        try:
            if not values:  # then nothing in it is a placeholder
                return connection.execute(sql.encode())
            return connection.execute(_placeholders(sql), tuple(values))
        except psycopg.Error:
            if connection.closed:
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
