"""Something between a client and a server that can go away or fall silent, as servers and networks do."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

Address = str | tuple[str, int]  # a socket's path, or host and port


class Between:
    """Listens at one address and hands on to another, unless it is `gone` (hangs up) or `silent` (says nothing)."""

    def __init__(self, here: Address, there: Address) -> None:
        self._there = there
        self.mode = "open"
        self.accepted = 0
        self._held: list[socket.socket] = []
        self._listener = _socket(here)
        self._listener.bind(here)
        self._listener.listen(50)
        self.address: Any = self._listener.getsockname()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop()

    def drop(self) -> None:
        """Hang up on everybody who is connected."""
        while self._held:
            held = self._held.pop()
            with contextlib.suppress(OSError):
                held.shutdown(socket.SHUT_RDWR)
            held.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                caller, _ = self._listener.accept()
                self.accepted += 1
                if self.mode == "gone":
                    caller.close()
                    continue
                self._held.append(caller)
                if self.mode == "open":
                    self._connect(caller)

    def _connect(self, caller: socket.socket) -> None:
        server = _socket(self._there)
        server.connect(self._there)
        self._held.append(server)
        for pair in ((caller, server), (server, caller)):
            threading.Thread(target=_hand_on, args=pair, daemon=True).start()


def _socket(address: Address) -> socket.socket:
    return socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)


def _hand_on(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def between(here: Address, there: Address) -> Iterator[Between]:
    made = Between(here, there)
    try:
        yield made
    finally:
        made.close()
