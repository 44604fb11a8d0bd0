"""`make providers`: where a provider goes, and what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))
import build_providers


def test_the_mirror_is_outside_of_the_tree_unless_a_folder_is_named(monkeypatch, tmp_path):
    monkeypatch.delenv("SALTFORM_TEST_PROVIDERS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert build_providers.mirror() == tmp_path / "saltform" / "providers"
    monkeypatch.setenv("SALTFORM_TEST_PROVIDERS", str(tmp_path / "mine"))
    assert build_providers.mirror() == tmp_path / "mine"


def test_a_binary_is_where_terraform_looks_for_it_in_a_filesystem_mirror(tmp_path):
    provider = {"source": "Mastercard/restapi", "version": "1.20.0"}
    found = build_providers.binary(provider, "linux_amd64", tmp_path).relative_to(tmp_path)
    assert (
        str(found) == "registry.terraform.io/mastercard/restapi/1.20.0/linux_amd64/terraform-provider-restapi_v1.20.0"
    )


def test_every_provider_of_the_list_has_a_checksum():
    for each in json.loads(build_providers.LIST.read_text()):
        assert each["sum"].startswith("h1:") and each["version"] and each["module"]


def test_a_provider_that_is_not_in_the_list_is_refused_by_name():
    with pytest.raises(SystemExit, match="bpg/nothing is not in providers.json, which has bpg/proxmox"):
        build_providers.main(["bpg/nothing"])


def test_a_download_with_another_checksum_is_refused(monkeypatch):
    monkeypatch.setattr(build_providers, "go", lambda *_, **__: '{"Sum": "h1:other", "Dir": "/x"}')
    with pytest.raises(SystemExit, match="has checksum h1:other"):
        build_providers.download({"module": "m", "version": "1", "sum": "h1:mine"})
