"""The search for planted secrets finds them: a search that can't find anything proves nothing."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import sys
import tarfile
import zipfile
from urllib.parse import quote

import pytest

from tests.support.planted import CommandLines, report, search_files, search_text

SECRET = 'p@ss/w+rd&<é>"x'
KEY = "-----BEGIN KEY-----\nMIIEowIBAAKCAQEA7bqAAAA\nK9dRrS2mNvTqLpXwBBBB==\n-----END KEY-----"
SECRETS = {"password": SECRET, "key": KEY}


@pytest.mark.parametrize(
    "text",
    [
        f"x {SECRET} y",
        json.dumps({"a": SECRET}),
        json.dumps({"a": json.dumps({"b": SECRET})}),
        quote(SECRET),
        base64.b64encode(f"user:{SECRET}!".encode()).decode(),
        base64.urlsafe_b64encode(f"u{SECRET}!".encode()).decode(),
        SECRET.encode().hex(),
        repr({"a": SECRET}),
        "  K9dRrS2mNvTqLpXwBBBB==",
    ],
)
def test_every_form_is_found(text):
    assert search_text(SECRETS, text, "here")


def test_what_is_not_there_is_not_found():
    assert search_text(SECRETS, "password key BEGIN x" * 100, "here") == []


def test_files_names_and_archives_are_searched(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "log").write_text(f"a {SECRET}")
    with zipfile.ZipFile(tmp_path / "plan", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tfplan", SECRET)
    (tmp_path / "x.gz").write_bytes(gzip.compress(SECRET.encode()))
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        archive.add(tmp_path / "plan", "inner")
    (tmp_path / "name-hunter2hunter2").write_text("")
    found = search_files({**SECRETS, "name": "hunter2hunter2"}, tmp_path)
    said = report(found)
    for place in ("sub/log", "plan!tfplan", "x.gz!gunzip", "x.tar!inner!tfplan", "name of"):
        assert place in said
    assert SECRET not in said
    rest = search_files(SECRETS, tmp_path, allowed=lambda path: path.name != "log")
    assert {item.where for item in rest} == {str(tmp_path / "sub" / "log")}


def test_a_command_line_is_seen_while_it_runs():
    with CommandLines() as lines:
        subprocess.run([sys.executable, "-c", "import time; time.sleep(2)", "hunter2hunter2"], check=True)
    assert lines.search({"argument": "hunter2hunter2"})
    assert lines.search({"argument": "not-on-any-command-line"}) == []
