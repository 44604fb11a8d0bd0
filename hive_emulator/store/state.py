"""All records in memory, by account and region, kind and id; in creation order, with secondary indexes."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hive_emulator.store.base import Change

Extract = Callable[[dict[str, Any]], Iterable[Any]]


class Record(dict[str, Any]):
    """A stored record: never changed, only replaced. So its identity is its revision, and its XML is kept."""

    __slots__ = ("xml",)
    xml: tuple[Any, str]  # once it was written: its text, and which serialiser that was

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a stored record is read-only: build a new dict and put() that")

    __setitem__ = __delitem__ = __ior__ = _refuse
    update = pop = popitem = setdefault = clear = _refuse

    def copy(self) -> dict[str, Any]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return copy.deepcopy(dict(self), memo)

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


class Table:
    """The records of one kind in one account and region."""

    __slots__ = ("_indexes", "records", "version")

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.version = 0  # grows with every change: a scan is valid while it stands still
        self._indexes: dict[str, tuple[Extract, dict[Any, dict[str, None]]]] = {}

    def write(self, id: str, record: Record | None) -> None:
        """Put or, with None, delete; indexes follow."""
        self.version += 1
        old = self.records.get(id)
        if record is None:
            self.records.pop(id, None)
        else:
            self.records[id] = record
        for extract, index in self._indexes.values():
            _reindex(extract, index, id, old, record)

    def index(self, name: str, extract: Extract) -> dict[Any, dict[str, None]]:
        """Value → ids (in order). Built at the first use, then kept."""
        found = self._indexes.get(name)
        if found is None:
            index: dict[Any, dict[str, None]] = {}
            for id, record in self.records.items():
                _reindex(extract, index, id, None, record)
            found = self._indexes[name] = (extract, index)
        return found[1]


def _reindex(extract: Extract, index: dict[Any, dict[str, None]], id: str, old: Any, new: Any) -> None:
    before = set(extract(old)) if old is not None else set()
    after = set(extract(new)) if new is not None else set()
    for value in before - after:
        ids = index[value]
        ids.pop(id, None)
        if not ids:
            del index[value]
    for value in after - before:
        index.setdefault(value, {})[id] = None


Place = tuple[str, str]  # account, region


class State:
    """Every table of every account and region."""

    def __init__(self) -> None:
        self._places: dict[Place, dict[str, Table]] = {}
        self._births: dict[tuple[str, str, str, str], float] | None = None

    def tables(self, account: str, region: str) -> dict[str, Table]:
        """The tables of one account and region, by kind."""
        found = self._places.get((account, region))
        if found is None:
            found = self._places[account, region] = {}
        return found

    def accounts(self, region: str) -> list[str]:
        """The accounts that have anything in this region."""
        return [account for account, where in self._places if where == region]

    def apply(self, changes: Sequence[Change]) -> None:
        """Write all ``changes``."""
        now = 0.0 if self._births is None else time.monotonic()
        for account, region, kind, id, record in changes:
            tables = self.tables(account, region)
            table = tables.get(kind)
            if table is None:
                table = tables[kind] = Table()
            if record is not None and type(record) is not Record:
                record = Record(record)
            if self._births is not None and record is not None and id not in table.records:
                self._births[account, region, kind, id] = now
            table.write(id, record)

    def clear(self) -> None:
        """Forget everything."""
        self._places.clear()

    def note_births(self, wanted: bool) -> None:
        """Remember from now on when records come into being, or stop doing so."""
        self._births = (self._births or {}) if wanted else None

    def born_within(self, account: str, region: str, seconds: float) -> set[tuple[str, str]]:
        """(kind, id) of what came into being less than ``seconds`` ago, but not with the region itself."""
        place, young, births = (account, region), time.monotonic() - seconds, self._births or {}
        seeded = births.get((account, region, "meta", "seeded"))
        return {key[2:] for key, born in births.items() if young < born != seeded and key[:2] == place}

    def sizes(self) -> Iterator[tuple[str, str, str, int]]:
        """(account, region, kind, number of records)."""
        for (account, region), tables in self._places.items():
            for kind, table in tables.items():
                if table.records:
                    yield account, region, kind, len(table.records)

    def everything(self) -> Iterator[tuple[str, str, str, str, Record]]:
        """(account, region, kind, id, record) of all that is there, in creation order within a kind."""
        for (account, region), tables in self._places.items():
            for kind, table in tables.items():
                for id, record in table.records.items():
                    yield account, region, kind, id, record
