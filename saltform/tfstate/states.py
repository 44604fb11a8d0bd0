"""What every reader of states can do, wherever the states live."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from saltform.tfstate.document import Head, Output, State


class States(Protocol):
    """Reads the states of components. A component that was never applied has none: `None`, and no outputs."""

    def head(self, environment: str, component: str) -> Head | None: ...

    def read(self, environment: str, component: str) -> State | None: ...

    def outputs(self, environment: str, component: str) -> Mapping[str, Output]: ...
