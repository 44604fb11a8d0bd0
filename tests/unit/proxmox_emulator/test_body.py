"""Bodies of requests: a file of a multipart form goes to disk, a form that is too large is refused."""

from __future__ import annotations

import asyncio

import pytest

from proxmox_emulator.api import body
from proxmox_emulator.errors import ApiError


def read(folder, headers, *chunks):
    left = list(chunks)

    async def receive():
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    return asyncio.run(body.read({"query_string": b""}, headers, receive, folder, 1000))


def test_a_file_goes_to_disk_and_its_fields_are_parameters(tmp_path):
    text = (
        b'--x\r\nContent-Disposition: form-data; name="content"\r\n\r\niso\r\n'
        b'--x\r\nContent-Disposition: form-data; name="filename"; filename="a.iso"\r\n\r\nBYTES\r\n--x--\r\n'
    )
    found = read(tmp_path, {"content-type": "multipart/form-data; boundary=x"}, text[:70], text[70:])
    assert found.params == {"content": "iso", "filename": "a.iso"}
    assert found.file.read_bytes() == b"BYTES"
    found.discard()
    assert not list(tmp_path.iterdir())


def test_a_form_that_is_too_large_is_refused(tmp_path):
    with pytest.raises(ApiError) as raised:
        read(tmp_path, {}, b"a" * (body.LARGEST_FORM + 1))
    assert raised.value.status == 413
