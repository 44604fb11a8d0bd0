"""The CLI configuration for each kind of mirror, and the embedded one unpacked once and whole."""

from __future__ import annotations

import errno
import hashlib
import stat
import threading
import zipfile
from pathlib import Path

import pytest

from saltform.config.types import Settings
from saltform.errors import BinaryError, ConfigError, WorkspaceError
from saltform.terraform import mirror


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A small archive in place of the 40 MB one."""
    archive = tmp_path / mirror.ARCHIVE
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("terraform-provider-aws_v3.39.0_x5", "a program")
    monkeypatch.setattr(mirror, "_packaged_archive", lambda: archive)
    monkeypatch.setattr(mirror, "SHA256", hashlib.sha256(archive.read_bytes()).hexdigest())
    return archive


def prepare(source: str, tmp_path: Path) -> mirror.CliConfig:
    return mirror.prepare(Settings(state_dir=tmp_path, mirror=source), tmp_path / "cache")


def provider(tmp_path: Path, host: str) -> Path:
    folder = tmp_path / "cache/mirror" / host / "hashicorp/aws/3.39.0/linux_amd64"
    return folder / "terraform-provider-aws_v3.39.0_x5"


def test_the_embedded_mirror_is_unpacked_and_named_alone(package, tmp_path):
    config = prepare("auto", tmp_path)
    folder = tmp_path / "cache/mirror"
    assert config.path.read_text() == (
        f'provider_installation {{\n  filesystem_mirror {{\n    path = "{folder}"\n  }}\n}}\n'
    )
    assert config.plugin_cache is None
    assert provider(tmp_path, "registry.terraform.io").read_text() == "a program"


def test_the_provider_can_be_run_and_is_found_under_the_name_tofu_gives_it(package, tmp_path):
    prepare("auto", tmp_path)
    program = provider(tmp_path, "registry.opentofu.org")
    assert program.stat().st_mode & stat.S_IXUSR
    assert not program.parents[1].is_symlink(), "terraform ignores a mirror whose version folder is a symlink"


def test_a_second_time_writes_nothing(package, tmp_path):
    config = prepare("auto", tmp_path)
    before = config.path.stat().st_mtime_ns
    package.unlink()
    assert prepare("auto", tmp_path) == config
    assert config.path.stat().st_mtime_ns == before


def test_many_at_once_unpack_one(package, tmp_path, monkeypatch):
    unpacked = []
    real = mirror._unpack
    monkeypatch.setattr(mirror, "_unpack", lambda *args: (unpacked.append(1), real(*args)))
    threads = [threading.Thread(target=prepare, args=("auto", tmp_path)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert unpacked == [1]
    assert provider(tmp_path, "registry.terraform.io").exists()


def test_a_damaged_archive_is_refused_and_nothing_is_left(package, tmp_path):
    package.write_bytes(package.read_bytes() + b"x")
    with pytest.raises(BinaryError, match="has the checksum"):
        prepare("auto", tmp_path)
    assert not provider(tmp_path, "registry.terraform.io").exists()


def test_without_the_package_the_mirror_is_empty(tmp_path, monkeypatch):
    monkeypatch.setattr(mirror, "_packaged_archive", lambda: None)
    assert "filesystem_mirror" in prepare("auto", tmp_path).path.read_text()


def test_the_registry_is_asked_only_when_it_is_named(tmp_path):
    config = prepare("registry", tmp_path)
    cache = tmp_path / "cache/plugins"
    assert config.path.read_text() == (f'provider_installation {{\n  direct {{}}\n}}\nplugin_cache_dir = "{cache}"\n')
    assert (config.plugin_cache, cache.is_dir()) == (cache, True)


@pytest.mark.parametrize("url", ["https://mirror.example/tf", "https://mirror.example/tf/"])
def test_a_network_mirror_ends_in_a_slash_as_terraform_wants(tmp_path, url):
    config = prepare(url, tmp_path)
    assert 'url = "https://mirror.example/tf/"' in config.path.read_text()
    assert config.plugin_cache is not None


def test_an_unpacked_folder_needs_no_plugin_cache(tmp_path):
    (tmp_path / "m/registry.terraform.io/hashicorp/aws/3.39.0/linux_amd64").mkdir(parents=True)
    config = prepare(str(tmp_path / "m"), tmp_path)
    assert f'path = "{tmp_path}/m"' in config.path.read_text()
    assert config.plugin_cache is None


def test_a_packed_folder_needs_one(tmp_path):
    folder = tmp_path / "m/registry.terraform.io/hashicorp/aws"
    folder.mkdir(parents=True)
    (folder / mirror.ARCHIVE).touch()
    assert prepare(str(tmp_path / "m"), tmp_path).plugin_cache == tmp_path / "cache/plugins"


@pytest.mark.parametrize("source", ["/nowhere", "relative", "http://plain.example"])
def test_anything_else_is_a_problem_of_the_configuration(tmp_path, source):
    with pytest.raises(ConfigError, match="saltform:mirror"):
        prepare(source, tmp_path)


def test_the_configuration_is_private(tmp_path):
    assert stat.S_IMODE(prepare("registry", tmp_path).path.stat().st_mode) == 0o600


def test_two_mirrors_have_two_files(tmp_path):
    one, two = prepare("registry", tmp_path), prepare("https://mirror.example", tmp_path)
    assert one.path != two.path


def test_what_a_killed_process_left_half_unpacked_is_replaced(package, tmp_path):
    half = provider(tmp_path, "registry.terraform.io").parent.with_name(".linux_amd64")
    half.mkdir(parents=True)
    (half / "terraform-provider-aws_v3.39.0_x5").write_text("half a pro")
    prepare("auto", tmp_path)
    assert provider(tmp_path, "registry.terraform.io").read_text() == "a program"
    assert not half.exists()


def test_a_full_disk_is_said_and_leaves_nothing(package, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "extractall", full)
    with pytest.raises(WorkspaceError, match="the disk is full"):
        prepare("auto", tmp_path)
    assert list((tmp_path / "cache/mirror").rglob("*linux_amd64*")) == []


def test_a_file_in_the_way_of_the_mirror_is_said(package, tmp_path):
    (tmp_path / "cache/mirror").mkdir(parents=True)
    (tmp_path / "cache/mirror/.lock").mkdir()
    with pytest.raises(WorkspaceError, match="Is a directory"):
        prepare("auto", tmp_path)
