"""States in PostgreSQL, as the backend `pg` stores them: a schema for each component, the row `default` in `states`.

A row's mark is its `xmin` and `ctid`: PostgreSQL gives every update new ones, and they cost nothing to ask for.
Nothing in its client ends a conversation in which nobody says anything any more, so we do.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from saltform.errors import StateError, StatesAway
from saltform.tfstate.fetched import Fetched, FetchedStates

Schema = Callable[[str, str], str]  # environment, component → the schema
TABLE, ROW = "states", "default"  # what Terraform calls them
_MARK = "xmin::text || ctid::text"
TIMEOUT = 10.0  # seconds for a connection, and for an answer


def connection(address: str, lent: Mapping[str, str]) -> Any:
    """A connection as terraform's backend makes it: from an address, and from what was lent as libpq's variables."""
    import psycopg

    names = {"PGHOST": "host", "PGPORT": "port", "PGDATABASE": "dbname", "PGUSER": "user", "PGPASSWORD": "password"}
    known: dict[str, Any] = {names[name]: value for name, value in lent.items() if name in names}
    where = lent.get("PG_CONN_STR") or address
    if "connect_timeout" not in where:
        known["connect_timeout"] = int(TIMEOUT)
    return psycopg.connect(where, autocommit=True, **known)


class PgStates(FetchedStates):
    """The states in one database. `connect` opens a connection with autocommit; it is kept until `close`."""

    at_once = 1  # over one connection

    def __init__(self, connect: Callable[[], Any], schema: Schema) -> None:
        super().__init__()
        try:
            import psycopg  # noqa: F401
        except ImportError:
            fix = "salt-pip install 'psycopg[binary]'"
            raise StateError("states in PostgreSQL can't be read", "the package psycopg is missing", fix) from None
        self._connect = connect
        self._schema = schema
        self._connection: Any = None
        self._one_at_a_time = threading.Lock()

    def close(self) -> None:
        with self._one_at_a_time:
            self._hang_up()

    def name(self, environment: str, component: str) -> str:
        return f"schema {self._schema(environment, component)!r} in PostgreSQL"

    def fetch(self, environment: str, component: str, known: str) -> Fetched | None | bool:
        from psycopg import sql

        # Composed, not parametrised: a percent sign in a schema's name would be read as a placeholder.
        statement = sql.SQL(
            "SELECT {mark}, CASE WHEN {mark} = {known} THEN NULL ELSE data END FROM {table} WHERE name = {row}"
        ).format(mark=sql.SQL(_MARK), known=known, table=self._table(environment, component), row=ROW)
        with self._speaking(self.name(environment, component)) as connection:
            rows = self._rows(connection, statement)
        if not rows:
            return None
        mark, content = rows[0]
        return True if content is None else Fetched(mark, content.encode())

    def marks(self, environment: str, components: Iterable[str]) -> Mapping[str, str]:
        from psycopg import sql

        schemas = {self._schema(environment, name): name for name in components}
        with self._speaking(f"the states of {environment} in PostgreSQL") as connection:
            there = connection.execute(
                "SELECT table_schema FROM information_schema.tables WHERE table_name = %s AND table_schema = ANY(%s)",
                (TABLE, list(schemas)),
            ).fetchall()
            if not there:
                return {}
            one = sql.SQL("SELECT {name}, {mark} FROM {table} WHERE name = {row}")
            parts = [
                one.format(name=schemas[each], mark=sql.SQL(_MARK), table=sql.Identifier(each, TABLE), row=ROW)
                for (each,) in there
            ]
            return dict(connection.execute(sql.SQL(" UNION ALL ").join(parts)).fetchall())

    def _table(self, environment: str, component: str) -> Any:
        from psycopg import sql

        return sql.Identifier(self._schema(environment, component), TABLE)

    @staticmethod
    def _rows(connection: Any, statement: Any) -> list[Any]:
        from psycopg import errors

        try:
            found: list[Any] = connection.execute(statement).fetchall()
        except (errors.UndefinedTable, errors.InvalidSchemaName):
            return []  # nothing was ever stored there
        return found

    @contextlib.contextmanager
    def _speaking(self, name: str) -> Iterator[Any]:
        import psycopg

        with self._one_at_a_time:
            try:
                if self._connection is None:
                    self._connection = self._connect()
                with _not_for_ever(self._connection):
                    yield self._connection
            except psycopg.Error as error:
                self._hang_up()  # the next question tries anew
                raise self._said(name, error) from None

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @staticmethod
    def _said(name: str, error: Exception) -> StateError:
        from psycopg import OperationalError

        said = str(error).strip().splitlines()
        kind = StatesAway if isinstance(error, OperationalError) else StateError
        return kind(
            "the state can't be read",
            f"{name}: {said[0] if said else type(error).__name__}",
            "check that the database is up, and the source at backend:credentials",
        )


@contextlib.contextmanager
def _not_for_ever(connection: Any) -> Iterator[None]:
    """The connection is cut when the answer takes too long: a lock, a server that stands still, a dead network."""
    import psycopg

    cut = threading.Event()

    def hang_up() -> None:
        with contextlib.suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as line:
            cut.set()
            line.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(TIMEOUT, hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    except psycopg.OperationalError:
        if cut.is_set():
            raise psycopg.OperationalError(f"no answer within {TIMEOUT:g} s") from None
        raise
    finally:
        timer.cancel()
