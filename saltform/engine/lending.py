"""Lends credentials to the components of one run: the lender wired to pillar, run log and keys of this master."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone

from saltform.config import Infrastructure
from saltform.credentials.leases import LeaseRecord
from saltform.credentials.lender import Lender
from saltform.engine.services import Services
from saltform.errors import UnknownName

QUESTION_ENDS_WITHIN = timedelta(minutes=10)


class RunLogLeases:
    """Leases on record in the run log, so that a dead run's are revoked by the next."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def add(self, id: str, run: str, component: str) -> None:
        self._services.runlog.add_lease(id, run, component)

    def remove(self, id: str) -> None:
        self._services.runlog.remove_lease(id)

    def dangling(self) -> list[LeaseRecord]:
        rows = self._services.runlog.leases()
        return [LeaseRecord(row["id"], row["run"], row["component"]) for row in rows if self._left_behind(row)]

    def _left_behind(self, row: Mapping[str, str]) -> bool:
        """A run is seen to be dead. A question (`credentials`, `preflight`) is no run: it is given time to end."""
        if self._services.locks.run_alive(row["run"]):
            return False
        try:
            self._services.runlog.run(row["run"])
        except UnknownName:
            taken = datetime.fromisoformat(row["taken"].replace("Z", "+00:00"))
            return datetime.now(timezone.utc) - taken > QUESTION_ENDS_WITHIN
        return True


def make_lender(services: Services, infrastructure: Infrastructure, digest_key: bytes) -> Lender:
    lender = Lender(
        run=services.run_id,
        vault=infrastructure.vault,
        pillar=services.pillar,
        resolve=services.resolve,
        leases=RunLogLeases(services),
        processes=services.processes,
        digest_key=digest_key,
    )
    lender.notes += lender.recover()
    return lender
