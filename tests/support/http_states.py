"""A server for Terraform's backend `http`: states and locks in memory, one login, one address for each state."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class HttpStatesServer:
    address: str = ""
    states: dict[str, bytes] = field(default_factory=dict)
    locks: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)


@contextlib.contextmanager
def http_states(username: str, password: str) -> Iterator[HttpStatesServer]:
    """Running until the end of the block."""
    kept = HttpStatesServer()
    login = f"Basic {base64.b64encode(f'{username}:{password}'.encode()).decode()}"
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(kept, login))
    kept.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(kept: HttpStatesServer, login: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = kept.states.get(self.path)
            self._answer(200 if found else 404, found or b"")

        def do_POST(self) -> None:
            kept.states[self.path.partition("?")[0]] = self._body()
            self._answer(200)

        def do_LOCK(self) -> None:
            body, path = self._body(), self.path
            if path in kept.locks:
                self._answer(423, kept.locks[path])
            else:
                kept.locks[path] = body
                self._answer(200)

        def do_UNLOCK(self) -> None:
            kept.locks.pop(self.path, None)
            self._answer(200)

        def _body(self) -> bytes:
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))

        def _answer(self, status: int, content: bytes = b"") -> None:
            kept.asked.append(f"{self.command} {self.path} {status}")
            if self.headers.get("Authorization") != login:
                status, content = 401, json.dumps({"error": "who are you?"}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Not on standard error."""

    return Handler
