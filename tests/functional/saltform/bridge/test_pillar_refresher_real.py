"""Minions are asked once for a fresh pillar, however many targets they match, and many in slices."""

from __future__ import annotations

import contextlib
import json
from types import SimpleNamespace

import pytest

from saltform.bridge import host


@pytest.fixture
def refresh(tmp_path, monkeypatch):
    """Who is asked, publication by publication, on a master that has the keys of web-000 to web-249 and db."""
    config = pytest.importorskip("salt.config")
    import salt.client

    accepted = tmp_path / "pki" / "minions"
    accepted.mkdir(parents=True)
    for name in ["db", *(f"web-{number:03}" for number in range(250))]:
        (accepted / name).write_text("a key")
    settings = {"root_dir": str(tmp_path), "cachedir": str(tmp_path / "cache"), "pki_dir": str(tmp_path / "pki")}
    (tmp_path / "master").write_text(json.dumps(settings))
    sent = []
    client = SimpleNamespace(pub=lambda minions, _function, tgt_type, **_: sent.append((tgt_type, minions)))
    monkeypatch.setattr(salt.client, "get_local_client", lambda **_: contextlib.nullcontext(client))
    monkeypatch.setattr(host, "PAUSE", 0)

    def ask(*targets):
        sent.clear()
        host.pillar_refresher(config.master_config(str(tmp_path / "master")))(targets)
        return list(sent)

    return ask


def test_each_is_asked_once_and_a_target_that_does_not_parse_keeps_nobody_from_it(refresh):
    found = refresh("web-00[12]", ("db", "web-001"), "nobody", "G@role:web and (")
    assert found == [("list", ["db", "web-001", "web-002"])]


def test_many_are_asked_in_slices_and_nobody_is_not_asked(refresh):
    assert [len(minions) for _, minions in refresh("web-*")] == [100, 100, 50]
    assert refresh("nobody") == []
