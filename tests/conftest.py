"""For all tests: no network beyond this machine, and Salt kept from breaking imports."""

from __future__ import annotations

import ipaddress
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent


# Properties are about what holds, and not about how long a busy machine takes to find that out.
settings.register_profile("ours", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ours")


def pytest_configure() -> None:
    """A shell's background job ignores Ctrl-C, and what it starts inherits that: tests of interrupts would fail."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Not ours: Salt's clients leave sockets and event loops to the garbage collector."""
    for item in items:
        if item.path.is_relative_to(HERE / "integration"):
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


def pytest_collectstart() -> None:
    """`import salt` leaves an importer of the old kind behind, which pytest can't ask for modules."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if hasattr(finder, "find_spec")]


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Any:
    """Connections from the test process go to this machine, or are refused with the name of who tried."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_local(str(address[0])):
            raise AssertionError(f"a test tried to reach {address[0]}: tests work without a network")
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        yield


def _is_local(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return address.is_loopback or address.is_unspecified
