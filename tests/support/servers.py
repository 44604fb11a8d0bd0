"""Real servers behind what Salt has configured, and pages as a client gets them."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager


@contextmanager
def running(*command: str, ready: str, statuses: tuple[int, ...] = (200,), **environment: str):
    """A real server, from the moment on which `ready` answers with one of `statuses`."""
    process = subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        deadline = time.monotonic() + 120
        while status(ready) not in statuses:
            assert process.poll() is None, process.stderr.read().decode()
            assert time.monotonic() < deadline, f"{command[0]} is not ready: {ready} says {status(ready)}"
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=120)


def status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    except OSError:
        return 0


def through_hecate(port: int, host: str, path: str) -> bytes:
    """A page as a client gets it: by TLS with the host's name, whoever signed the certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    plain = socket.create_connection(("127.0.0.1", port), timeout=5)
    with context.wrap_socket(plain, server_hostname=host) as secured:
        secured.sendall(f"GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
        return b"".join(iter(lambda: secured.recv(65536), b""))
