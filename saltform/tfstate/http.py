"""States on a server with the protocol of the backend `http`: a GET gives the state, 404 or nothing is none."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from saltform.errors import StateError, StatesAway
from saltform.tfstate.fetched import Fetched, FetchedStates

Address = Callable[[str, str], str]  # environment, component → the state's address
TIMEOUT = 30.0
_NONE = (204, 404)
_REFUSED = (401, 403)


class HttpStates(FetchedStates):
    """The states of one server. The mark is its ETag, or a digest of the content where it gives none."""

    def __init__(self, address: Address, login: Callable[[], tuple[str, str] | None], verify: bool = True) -> None:
        super().__init__()
        self._address = address
        self._login = login
        self._verify = verify

    def name(self, environment: str, component: str) -> str:
        return self._address(environment, component)

    def fetch(self, environment: str, component: str, known: str) -> Fetched | None | bool:
        answer = self._get(self.name(environment, component), {"If-None-Match": known} if known else {})
        if answer.status_code == 304:
            return True
        if answer.status_code in _NONE or not answer.content:
            return None
        mark = answer.headers.get("ETag") or hashlib.sha256(answer.content).hexdigest()
        return True if mark == known else Fetched(mark, answer.content)

    def marks(self, environment: str, components: Iterable[str]) -> Mapping[str, str]:
        """The protocol has no listing: a mark that no state has, so that each is asked for."""
        return dict.fromkeys(components, "")

    def _get(self, address: str, headers: Mapping[str, str]) -> Any:
        import requests

        try:
            answer = requests.get(
                address, headers=dict(headers), auth=self._login(), timeout=TIMEOUT, verify=self._verify
            )
        except requests.RequestException as error:
            fix = "check the address, and that it is up"
            raise StatesAway("the state can't be read", f"{address}: {type(error).__name__}", fix) from None
        if answer.ok or answer.status_code in (304, *_NONE):
            return answer
        refused = answer.status_code in _REFUSED
        fix = "check the source at backend:credentials" if refused else "look into the server's log"
        raise StateError("the state can't be read", f"{address}: {answer.status_code} {answer.reason}", fix)
