"""A load tool that is not the bottleneck: signed requests, replayed as bytes over keep-alive connections.

One thread, blocking sockets in an epoll loop, no HTTP library: it reads only as much of an answer as it needs to
know where it ends. What it takes itself is the first thing that ``hive_vs_moto`` prints.
"""

from __future__ import annotations

import re
import selectors
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

_CLOSE = re.compile(rb"connection: *close", re.IGNORECASE)
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Load:
    """What was answered."""

    answers: int
    seconds: float

    @property
    def rate(self) -> float:
        """Answers a second."""
        return self.answers / self.seconds


@dataclass
class Target:
    """An endpoint and the key to sign for it."""

    endpoint: str
    access_key: str
    secret_key: str
    region: str = "ap-southeast-2"

    def signed(self, action: str, **params: str) -> bytes:
        """The whole request, ready to be sent."""
        body = urlencode({"Action": action, "Version": "2016-11-15", **params})
        headers = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
        request = AWSRequest("POST", self.endpoint + "/", data=body, headers=headers)
        SigV4Auth(Credentials(self.access_key, self.secret_key), "ec2", self.region).add_auth(request)
        host = urlsplit(self.endpoint).netloc
        lines = ["POST / HTTP/1.1", f"Host: {host}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in request.headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


class _Client:
    def __init__(self, address: tuple[str, int], ready: selectors.EpollSelector) -> None:
        self._address, self._ready = address, ready
        self.missing = -1  # bytes of the answer still to come; -1 before its head is complete
        self.head = b""
        self._connect()

    def _connect(self) -> None:
        self.socket = socket.create_connection(self._address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._ready.register(self.socket, selectors.EVENT_READ, self)

    def ask(self, request: bytes) -> None:
        if _CLOSE.search(self.head):  # moto's server closes after every answer
            self.close()
            self._connect()
        self.missing, self.head = -1, b""
        self.socket.sendall(request)

    def close(self) -> None:
        self._ready.unregister(self.socket)
        self.socket.close()

    def answered(self) -> bool:
        """Read what is there; true when the answer is complete."""
        data = self.socket.recv(1 << 16)  # more would cost a fresh mapping of memory each time
        if not data:
            raise ConnectionError("the server closed the connection")
        if self.missing >= 0:
            self.missing -= len(data)
            return self.missing <= 0
        self.head += data
        end = self.head.find(b"\r\n\r\n")
        if end < 0:
            return False
        if b" 200 " not in self.head[:16]:
            raise RuntimeError(self.head.decode(errors="replace")[:600])
        length = _LENGTH.search(self.head, 0, end + 2)
        if length is None:
            raise RuntimeError("an answer without Content-Length")
        self.missing = int(length[1]) - (len(self.head) - end - 4)
        self.head = self.head[: end + 2]
        return self.missing <= 0


def replay(endpoint: str, requests: Sequence[bytes], seconds: float, connections: int = 8, fewest: int = 24) -> Load:
    """Send ``requests`` in turn for ``seconds``, or until ``fewest`` are answered."""
    url = urlsplit(endpoint)
    with selectors.EpollSelector() as ready:
        clients = [_Client((url.hostname or "", url.port or 80), ready) for _ in range(connections)]
        for number, client in enumerate(clients):
            client.ask(requests[number % len(requests)])
        done, sent, start = 0, len(clients), time.perf_counter()
        while (elapsed := time.perf_counter() - start) < seconds or done < fewest:
            for key, _ in ready.select(1.0):
                if key.data.answered():
                    done += 1
                    key.data.ask(requests[sent % len(requests)])
                    sent += 1
        for client in clients:
            client.close()
    return Load(done, elapsed)
