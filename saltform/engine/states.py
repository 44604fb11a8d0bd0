"""Reads each component's state where its backend has it: by a reader of ours, and for the rest by terraform.

1. The state is where the last apply left it. When pillar says another place, nothing is read or started there: it
   would look like a component that was never applied, and a second one would be built.
2. One reader serves all components of a backend; the backend's credentials are lent to it as to a process.
3. What only terraform can read is pulled when it has changed by us, and otherwise known from the run log's copy.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltform.config.backends import KINDS, decode, encode, place
from saltform.config.types import NOTHING, Backend, Component
from saltform.errors import (
    BinaryError,
    CredentialError,
    SaltformError,
    StateError,
    StatesAway,
    TerraformError,
    Timeout,
)
from saltform.tfstate import Head, Output, State, States
from saltform.tfstate.local import LocalStates
from saltform.tfstate.versions import newest_version

if TYPE_CHECKING:
    from saltform.credentials.loan import Loan
    from saltform.engine.context import EnvironmentContext
    from saltform.tfstate.fetched import Kept

# Why one component's state can't be read, which hides no other's: some are read by terraform alone.
CANNOT_READ = (StateError, CredentialError, BinaryError, TerraformError, Timeout)
_HAVE_VERSIONS = ("s3", "gcs", "azurerm")  # where they are switched on
_ASSUMED = ("assume_role", "assume_role_with_web_identity")


class BackendStates:
    """The states of one opened environment, wherever they are."""

    def __init__(self, context: EnvironmentContext) -> None:
        self._context = context
        self._local = LocalStates(context.services.settings.state_dir)
        self._readers: dict[str, States] = {}
        self._loans: list[Loan] = []
        self._where: dict[tuple[str, str], Backend] = {}
        self._lock = threading.RLock()
        self._prefetched: dict[str, State | SaltformError | None] = {}

    def head(self, environment: str, component: str) -> Head | None:
        if component in self._prefetched:
            found = self.read(environment, component)
            return found.head if found else None
        return self._there(component, self.reader(environment, component).head(environment, component))

    def read(self, environment: str, component: str) -> State | None:
        if component in self._prefetched:
            found = self._prefetched[component]
            if isinstance(found, SaltformError):
                raise found
        else:
            found = self.reader(environment, component).read(environment, component)
        return self._there(component, found)

    @contextlib.contextmanager
    def prefetch(self, names: Iterable[str], known: Mapping[str, tuple[str, State]] = NOTHING) -> Iterator[None]:
        """The states of these on servers as they are now, all at once: none is asked for again inside the block.

        Nor is a server that doesn't answer, or one that there are no credentials for. `known` is what an earlier
        process read, and the mark that it had: only what has another one is read.
        """
        groups: dict[States, list[str]] = {}
        refused: dict[str, SaltformError] = {}
        for name in names:
            if self.backend(name).type == "local":
                continue
            backend = self._key(self.backend(name))
            try:
                if backend in refused:
                    raise refused[backend]
                reader = self.reader(self._context.name, name)
                groups.setdefault(reader, []).append(name)
                if name in known:
                    reader.recall(self._context.name, name, *known[name])
            except StateError as error:  # of this one alone
                self._prefetched[name] = error
            except SaltformError as error:
                self._prefetched[name] = refused[backend] = error
        try:
            for reader, group in groups.items():
                try:
                    self._prefetched |= reader.read_many(self._context.name, group)
                except StatesAway as error:
                    self._prefetched |= dict.fromkeys(group, error)
                except StateError:
                    continue  # it may let each be read, though not all be listed
            yield
        finally:
            self._prefetched = {}

    def last(self, component: str) -> Kept | None:
        """What was read last of a state on a server, and its mark."""
        with contextlib.suppress(SaltformError):
            return self.reader(self._context.name, component).last(self._context.name, component)
        return None

    def outputs(self, environment: str, component: str) -> Mapping[str, Output]:
        state = self.read(environment, component)
        return state.outputs if state else {}

    def invalidate(self, environment: str, component: str) -> None:
        """Terraform has been at work on it: what is known of a state that only terraform can read is old."""
        if component not in self._prefetched:
            self.reader(environment, component).invalidate(environment, component)

    def note_versions(self, environment: str, component: str) -> None:
        """Before an apply: where the backend doesn't keep what a state was before, that becomes a note, once."""
        backend, reader = self.backend(component), self.reader(environment, component)
        name = place(Backend(backend.type, _shared(backend)))
        if backend.type not in _HAVE_VERSIONS:
            self._context.note(f"no earlier versions of states are kept in {name}")
            return
        kept = reader.keeps_versions()
        if kept is None:
            self._context.note(f"whether earlier versions of states are kept in {name} can't be told from here")
        elif not kept:
            self._context.note(f"no earlier versions of states are kept in {name}; switch the bucket's versioning on")

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()
        for loan in self._loans:
            loan.close()
        self._readers.clear()
        self._loans.clear()

    def reader(self, environment: str, component: str) -> States:
        """The reader for this component's state, which must be where pillar says."""
        backend = self.backend(component)
        self._refuse_moved(component, backend)
        if backend.type == "local":
            return self._local
        key = self._key(backend)
        with self._lock:
            self._where[environment, component] = backend
            if key not in self._readers:
                self._readers[key] = self._open(backend, component)
            return self._readers[key]

    def backend(self, name: str) -> Backend:
        """Where a component's state is: as a release or pillar says, or its record once it left the pillar."""
        context = self._context
        if name in context.releases:
            return context.releases[name].component.backend
        if name in context.environment.components:
            return context.environment.components[name].backend
        record = context.records.get(name)
        return decode(record.backend) if record else Backend()

    def local_path(self, name: str) -> Path:
        return self._local.path(self._context.name, name)

    def way_back(self, name: str) -> str:
        """How a person brings back the state that is on record."""
        record = self._context.records[name]
        if decode(record.backend).type != "local":
            return "bring it back from the backend's versions, or from a backup"
        path = self.local_path(name)
        kept = newest_version(path, record.lineage)
        if kept:
            return f"cp {kept} {path}"
        home = self._context.services.settings.state_dir  # `restore` would bring every other state back as well
        state = f"files/{path.relative_to(home)}"
        return f"tar -xzf FILE -C {home} --strip-components=1 {state}   # FILE: your last backup"

    # --- inside ---------------------------------------------------------------------------------------------

    @staticmethod
    def _key(backend: Backend) -> str:
        """What all components have in common that one reader serves."""
        return encode(Backend(backend.type, _shared(backend), backend.credentials))

    def _refuse_moved(self, name: str, backend: Backend) -> None:
        record = self._context.records.get(name)
        if record is None or (not record.backend and backend.type == "local"):
            return
        was, now = place(decode(record.backend)), place(backend)
        if was != now:
            raise StateError(
                f"the state of {name} is not where pillar says",
                f"it is in: {was}; pillar says: {now}",
                f"salt-run infrastructure.migrate_state {self._context.name} {name}",
            )

    def _there(self, name: str, found: Any) -> Any:
        """A state that is gone is no component that was never applied: a second one would be built."""
        record = self._context.records.get(name)
        if found is None and record is not None and record.has_state:
            backend = decode(record.backend)
            raise StateError(
                f"the state of {name} is gone",
                f"serial {record.serial} was in {place(backend)}, and there is nothing now",
                self.way_back(name),
            )
        return found

    def _open(self, backend: Backend, component: str) -> States:
        environment = self._context.name
        asked = Component(environment, component, "", backend=backend)
        loan = self._context.lender.lend(asked)
        self._loans.append(loan)
        readers: Mapping[str, Callable[[Backend, Loan], States]] = {
            "s3": self._s3,
            "pg": self._pg,
            "http": self._http,
        }
        if backend.type not in readers or not _readable(backend):
            from saltform.engine.pulled_states import PulledStates  # by terraform itself

            return PulledStates(self._context)
        return readers[backend.type](backend, loan)

    def _setting(self, name: str) -> Callable[[str, str], str]:
        return lambda environment, component: str(self._where[environment, component].settings[name])

    def _s3(self, backend: Backend, loan: Loan) -> States:
        from saltform.credentials.aws import states_client
        from saltform.tfstate.s3 import S3States

        client = states_client(backend.settings, loan.backend)
        return S3States(client, str(backend.settings["bucket"]), self._setting("key"))

    def _pg(self, backend: Backend, loan: Loan) -> States:
        from saltform.tfstate.pg import PgStates, connection

        address = str(backend.settings.get("conn_str") or "")
        return PgStates(lambda: connection(address, _fresh(loan)), self._setting("schema_name"))

    def _http(self, backend: Backend, loan: Loan) -> States:
        from saltform.tfstate.http import HttpStates

        def login() -> tuple[str, str] | None:
            lent = _fresh(loan)
            return (lent.get("TF_HTTP_USERNAME", ""), lent.get("TF_HTTP_PASSWORD", "")) if lent else None

        return HttpStates(self._setting("address"), login, not backend.settings.get("skip_cert_verification"))


def _shared(backend: Backend) -> dict[str, Any]:
    """The settings that all components of a backend have in common."""
    named = KINDS[backend.type].named
    return {name: value for name, value in backend.settings.items() if name not in named}


def _readable(backend: Backend) -> bool:
    """Whether a reader of ours can do without what terraform does to authenticate."""
    needs_more = (*_ASSUMED, "client_certificate_pem", "client_ca_certificate_pem")
    return not any(backend.settings.get(name) for name in needs_more)


def _fresh(loan: Loan) -> Mapping[str, str]:
    """What was lent, fetched anew where it is about to end."""
    _ = loan.environment
    return loan.backend
