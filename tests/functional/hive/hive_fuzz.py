"""Requests as nobody should send them. ``python tests/functional/hive/hive_fuzz.py --seconds 300`` for a long run.

1. Parameters are made from the model of a random action: right ones, ids that other answers have shown, and now and
   then something hostile (wrong types, absurd numbers, odd characters, long lists, names that don't exist).
2. Some bodies are broken afterwards: cut, flipped, doubled, badly encoded. Some requests are broken as HTTP.
3. Whatever is sent, the answer must be a 2xx or 4xx with a readable document, in time; never a 5xx, never a
   traceback in the log, and the emulator is well at the end.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import socket
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from hive_emulator.protocol.model import is_json, services
from hive_emulator.protocol.parse import wire_names
from hive_emulator.testing import RunningHive, running_emulator

TIMEOUT = 60.0  # a machine with too much to do may well leave the emulator alone for ten seconds
_ID = re.compile(
    r"\b(?:vpc|subnet|sg|sgr|rtb|rtbassoc|igw|eigw|eni|eni-attach|i|vol|snap|ami|key|pg|eipalloc|nat|acl)-[0-9a-f]{17}\b"
)
HOSTILE = [
    "", " ", "0", "-1", "1e9", "99999999999999999999", "NaN", "true", "null", "[]", "{}", "%", "%00", "\x00",
    "\ud7ff", "￾", "é" * 300, "x" * 5000, "../../etc/passwd", "' OR 1=1 --", "<![CDATA[x]]>", "&amp;", "*", "?", "\\",
    "0.0.0.0/0", "10.0.0.0/33", "::/0", "256.1.1.1/8", "10.0.0.0/16", "10.0.1.0/24", "fe80::1%eth0", "vpc-", "i-zzzz",
    "2026-13-45T99:99:99Z", "9999-12-31T23:59:59Z", "arn:aws:iam::x", "\r\n\r\nHTTP/1.1 200 OK", "😀", "+5", "٣",
]  # fmt: skip
GOOD = [
    "10.0.0.0/16",
    "10.0.1.0/24",
    "10.0.0.0/28",
    "ap-southeast-2a",
    "t3.micro",
    "tcp",
    "22",
    "default",
    "gp3",
    "8",
]


@dataclass
class Findings:
    """What was seen; ``problems`` must stay empty."""

    codes: Counter[str] = field(default_factory=Counter)
    actions: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)


def _as_json(pairs: list[tuple[str, str]]) -> bytes:
    """Lists are numbered in the pairs: ``Names.1``."""
    found: dict[str, Any] = {}
    for path, value in pairs:
        name, dot, _ = path.partition(".")
        found[name] = [*found.get(name, []), value] if dot and isinstance(found.get(name, []), list) else value
    return json.dumps(found).encode("utf-8", "replace")


class Fuzzer:
    """One run against one emulator, repeatable by its seed."""

    def __init__(self, hive: RunningHive, seed: int) -> None:
        self._hive = hive
        self._random = random.Random(seed)
        self._ids: list[str] = ["ami-" + "0" * 17]
        self._actions = [(service, name) for service, m in services().items() for name in m["operations"]]
        self.findings = Findings()

    def run(self, requests: int, until: float = float("inf")) -> Findings:
        """Send so many requests, or as many as fit before ``until``."""
        for _ in range(requests):
            if time.monotonic() > until or len(self.findings.problems) > 20:
                break
            self._one()
        self._check_health()
        return self.findings

    def _one(self) -> None:
        if self._random.random() < 0.04:
            self._send(self._broken_http(), "broken HTTP", strict=False)
            return
        service, action = self._random.choice(self._actions)
        pairs = self._pairs(service, action)
        target = f"AmazonSSM.{action}" if is_json(service) else ""
        body = _as_json(pairs[2:]) if target else urlencode(pairs, errors="surrogatepass").encode()
        if self._random.random() < 0.15:
            body = self._broken(body)
        self._send(self._signed(service, body, target), f"{service}:{action} {body[:1500]!r}")
        self.findings.actions.add(action)

    # --- making ---

    def _pairs(self, service: str, action: str) -> list[tuple[str, str]]:
        model = services()[service]
        version = model["metadata"]["apiVersion"] if self._random.random() < 0.98 else self._hostile()
        pairs = [("Action", action), ("Version", version)]
        shape = model["operations"][action].get("input", {}).get("shape")
        if shape:
            pairs += self._members(model["shapes"], model["shapes"][shape], "", service == "ec2", 0)
        if self._random.random() < 0.05:
            pairs.append((self._hostile()[:50] or "X", self._hostile()))
        return [pair for pair in pairs if pair[0] not in ("DryRun",) or self._random.random() < 0.1]

    def _members(self, shapes: Any, shape: Any, path: str, ec2: bool, depth: int) -> Iterator[tuple[str, str]]:
        required = set(shape.get("required", ()))
        for wire, (member, name) in wire_names(shape, ec2).items():
            wanted = 0.95 if member in required else 0.3 / (depth + 1)
            if depth < 5 and self._random.random() < wanted:
                yield from self._value(shapes, shapes[name], path + wire, member, ec2, depth)

    def _value(
        self, shapes: Any, shape: Any, path: str, member: str, ec2: bool, depth: int
    ) -> Iterator[tuple[str, str]]:
        if self._random.random() < 0.06:
            yield path, self._hostile()
        elif shape["type"] == "structure":
            yield from self._members(shapes, shape, path + ".", ec2, depth + 1)
        elif shape["type"] == "list":
            count = self._random.choice([1, 1, 1, 2, 3]) if self._random.random() < 0.99 else 1100
            for number in range(1, count + 1):
                entry = shapes[shape["member"]["shape"]]
                yield from self._value(shapes, entry, f"{path}.{number}", member, ec2, depth + 1)
        else:
            yield path, self._scalar(shape, member)

    def _scalar(self, shape: Any, member: str) -> str:
        if shape.get("enum"):
            return self._random.choice(shape["enum"])
        if shape["type"] in ("integer", "long"):
            return str(self._random.choice([0, 1, 2, 8, 22, 100, 65535, 65536, -1, 2**31 - 1, -(2**31)]))
        if shape["type"] == "boolean":
            return self._random.choice(["true", "false"])
        if "Id" in member and self._random.random() < 0.9:
            return self._random.choice(self._ids)
        return self._random.choice(GOOD if self._random.random() < 0.7 else HOSTILE)

    def _hostile(self) -> str:
        return self._random.choice(HOSTILE)

    def _broken(self, body: bytes) -> bytes:
        at = self._random.randrange(len(body))
        return self._random.choice(
            [
                body[:at],
                body + b"&" + body,
                body[:at] + bytes([self._random.randrange(256)]) + body[at + 1 :],
                body.replace(b"=", b"=%", 1),
                body + b"&" + b"." * self._random.choice([1, 100, 999]) + b"=1",
                body + b"&A" + b".1" * 400 + b"=1",
                bytes(self._random.randrange(256) for _ in range(200)),
                body.replace(b"&", b";"),
                b'{"json": true}',
                b"<xml/>",
            ]
        )

    def _signed(self, service: str, body: bytes, target: str = "") -> bytes:
        request = AWSRequest("POST", self._hive.endpoint + "/", data=body)
        credentials = Credentials(self._hive.access_key, self._hive.secret_key)
        SigV4Auth(credentials, service, self._hive.region).add_auth(request)
        headers = {**request.headers, **({"X-Amz-Target": target} if target else {})}
        if self._random.random() < 0.004:  # seldom: repeated failures are slowed down
            name = self._random.choice(sorted(headers))
            headers[name] = quote_plus(self._hostile())
        lines = [f"Host: {urlsplit(self._hive.endpoint).netloc}", f"Content-Length: {len(body)}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return b"POST / HTTP/1.1\r\n" + "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    def _broken_http(self) -> bytes:
        good = self._signed("ec2", b"Action=DescribeVpcs")
        at = self._random.randrange(len(good))
        return self._random.choice(
            [
                good[:at] + b"\r\n\r\n",
                good[:at] + b"\x00\xff" + good[at:],
                good.replace(b"Content-Length: ", b"Content-Length: 9", 1) + b"x" * 3000,
                good.replace(b"HTTP/1.1", b"HTTP/7.1"),
                b"POST " + b"/" * 70_000 + b" HTTP/1.1\r\n\r\n",
                b"\r\n" * 50,
                bytes(self._random.randrange(256) for _ in range(300)),
                good + good + good,
            ]
        )

    # --- sending and judging ---

    def _send(self, request: bytes, what: str, strict: bool = True) -> None:
        url = urlsplit(self._hive.endpoint)
        answer = b""
        try:
            with socket.create_connection((url.hostname, url.port), timeout=TIMEOUT) as connection:
                connection.sendall(request)
                connection.shutdown(socket.SHUT_WR)
                while data := connection.recv(1 << 20):
                    answer += data
        except TimeoutError:
            self.findings.problems.append(f"stuck: {what}")
            return
        except OSError:
            pass  # closed on us: fine for what is not HTTP
        if answer or strict:
            self._judge(answer, what)

    def _judge(self, answer: bytes, what: str) -> None:
        head, _, body = answer.partition(b"\r\n\r\n")
        status = head[9:12].decode("latin-1")
        self.findings.codes[status] += 1
        if status[:1] not in ("2", "4"):
            self.findings.problems.append(f"{status or 'no answer'}: {what}\n  {body[-300:]!r}")
            return
        text = body.decode("utf-8")
        if head.count(b"HTTP/1.1 ") > 1 or text.count("<?xml") > 1:
            return  # several answers on one connection
        try:
            json.loads(text) if b"json" in head else ElementTree.fromstring(text)
        except (ElementTree.ParseError, ValueError) as error:
            self.findings.problems.append(f"unreadable answer ({error}): {what}\n  {text[:300]!r}")
            return
        found = _ID.findall(text)
        self._ids = (self._ids + found[:20])[-300:]

    def _check_health(self) -> None:
        log = (self._hive.data_dir / "log").read_text(errors="replace")
        if "Traceback" in log:
            self.findings.problems.append("traceback in the log:\n" + log[log.index("Traceback") - 200 :][:4000])
        if self._hive.process.poll() is not None:
            self.findings.problems.append(f"the emulator ended with {self._hive.process.returncode}")
        elif self._hive.client("sts").get_caller_identity()["Account"] != self._hive.account:
            self.findings.problems.append("the emulator forgot who we are")


def main() -> int:
    """A long run with a seed of its own; prints what it found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--store", default="memory")
    arguments = parser.parse_args()
    print(f"fuzzing for {arguments.seconds:g} s, seed {arguments.seed}")
    with tempfile.TemporaryDirectory() as folder, running_emulator(Path(folder), store=arguments.store) as hive:
        findings = Fuzzer(hive, arguments.seed).run(10**9, time.monotonic() + arguments.seconds)
    print(f"{sum(findings.codes.values())} answers {dict(findings.codes)}, {len(findings.actions)} actions")
    print("\n".join(findings.problems) or "no problems")
    return 1 if findings.problems else 0


if __name__ == "__main__":
    sys.exit(main())
