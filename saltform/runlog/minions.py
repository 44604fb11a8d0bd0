"""Which minions belong to which component, and the one-time tokens that let them in. Of a token only its digest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from saltform.runlog.database import Database


@dataclass(frozen=True)
class MinionToken:
    """A token for one minion of one component."""

    digest: str
    environment: str
    component: str
    minion: str
    run: str
    expires: str = ""  # '': the plan that it is in is not applied yet
    used: str = ""


class MinionLog:
    """The table `minion_tokens`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def propose(self, environment: str, component: str, run: str, tokens: Iterable[MinionToken]) -> None:
        """The tokens of a run's newest plan, in place of those of one that it made before and did not apply.

        Those of other runs stay: their plans may be waiting for approval, with their tokens in them.
        """
        with self._database.transaction():
            self._database.write(
                "DELETE FROM minion_tokens WHERE environment = ? AND component = ? AND run = ? AND expires = ''",
                (environment, component, run),
            )
            for token in tokens:
                values = vars(token)
                self._database.write(
                    f"INSERT INTO minion_tokens ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"  # noqa: S608
                    " ON CONFLICT (digest) DO UPDATE SET expires = ''",  # the same step plans again
                    tuple(values.values()),
                )

    def issue(self, environment: str, component: str, run: str, expires: str) -> list[str]:
        """The tokens that the run proposed are good from now on. Their digests."""
        with self._database.transaction():
            rows = self._database.rows(
                "SELECT digest FROM minion_tokens"
                " WHERE environment = ? AND component = ? AND run = ? AND expires = ''",
                (environment, component, run),
            )
            self.limit([row["digest"] for row in rows], expires)
        return [row["digest"] for row in rows]

    def limit(self, digests: Iterable[str], expires: str) -> None:
        """How long these are good."""
        for digest in digests:
            self._database.write("UPDATE minion_tokens SET expires = ? WHERE digest = ?", (expires, digest))

    def use(self, digest: str, minion: str, moment: str) -> bool:
        """Use a token up, if it is for this id, not used and in time: True for exactly one of all who try."""
        used = self._database.write(
            "UPDATE minion_tokens SET used = ? WHERE digest = ? AND minion = ? AND used = '' AND expires > ?",
            (moment, digest, minion, moment),
        )
        return used == 1

    def give_back(self, digest: str) -> None:
        """The key could not be accepted after all: the minion will come again."""
        self._database.write("UPDATE minion_tokens SET used = '' WHERE digest = ?", (digest,))

    def token(self, digest: str) -> MinionToken | None:
        rows = self._database.rows("SELECT * FROM minion_tokens WHERE digest = ?", (digest,))
        return MinionToken(**dict(rows[0])) if rows else None

    def of_component(self, environment: str, component: str) -> list[MinionToken]:
        """Oldest first."""
        rows = self._database.rows(
            "SELECT * FROM minion_tokens WHERE environment = ? AND component = ? ORDER BY minion, expires, run",
            (environment, component),
        )
        return [MinionToken(**dict(row)) for row in rows]

    def ids(self, environment: str, component: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(token.minion for token in self.of_component(environment, component)))

    def of_minions(self, minions: Iterable[str]) -> list[MinionToken]:
        found = []
        for minion in minions:
            rows = self._database.rows("SELECT * FROM minion_tokens WHERE minion = ?", (minion,))
            found += [MinionToken(**dict(row)) for row in rows]
        return found

    def components(self, environment: str) -> list[str]:
        """Those that have minions on record."""
        rows = self._database.rows(
            "SELECT DISTINCT component FROM minion_tokens WHERE environment = ? ORDER BY component", (environment,)
        )
        return [row["component"] for row in rows]

    def forget(self, environment: str, component: str, minions: Iterable[str]) -> None:
        with self._database.transaction():
            for minion in minions:
                self._database.write(
                    "DELETE FROM minion_tokens WHERE environment = ? AND component = ? AND minion = ?",
                    (environment, component, minion),
                )
