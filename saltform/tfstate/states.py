"""What every reader of states can do, wherever the states live."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from saltform.tfstate.document import Head, Output, State

if TYPE_CHECKING:
    from saltform.errors import StateError
    from saltform.tfstate.fetched import Kept


class States(ABC):
    """Reads the states of components. A component that was never applied has none: `None`, and no outputs.

    What only some can do better than by reading one state after the other does nothing here.
    """

    @abstractmethod
    def head(self, environment: str, component: str) -> Head | None: ...

    @abstractmethod
    def read(self, environment: str, component: str) -> State | None: ...

    def outputs(self, environment: str, component: str) -> Mapping[str, Output]:
        state = self.read(environment, component)
        return state.outputs if state else {}

    def read_many(self, environment: str, components: Iterable[str]) -> Mapping[str, State | StateError | None]:
        """Those that can be asked for together; one that can't be read is its error."""
        return {}

    def recall(self, environment: str, component: str, mark: str, state: State) -> None:
        """What an earlier process read under this mark."""
        return

    def last(self, environment: str, component: str) -> Kept | None:
        """What was read last, and its mark, where states have marks."""
        return None

    def invalidate(self, environment: str, component: str) -> None:
        """It may have changed: what is known of it is old."""
        return

    def keeps_versions(self) -> bool | None:
        """Whether what a state was before is kept; None where that can't be told."""
        return None

    def close(self) -> None:
        """Hang up."""
        return
