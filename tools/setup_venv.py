"""Build the virtual environment of one Salt line exactly as its lock file says: what `make setup` runs.

    python3 tools/setup_venv.py 3008 .venv

1. Refuse, in one sentence and before anything is installed, what can't work: a Salt line without a lock, a Python
   or a platform that the locks aren't made for.
2. Install uv with pip, by the hash that the lock has for it.
3. Let uv make the environment equal to the lock: hashes required, what isn't in the lock removed, and build tools of
   packages that come as source (Salt itself) taken from the lock, too.
4. Install this checkout, without asking an index for anything.

Only the standard library, and nothing newer than Python 3.7: an old Python has to get as far as the message.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINES = ("3006", "3007", "3008")
NEWEST = LINES[-1]
PYTHONS = ((3, 10), (3, 13))
MACHINES = ("x86_64", "aarch64")


def lock_file(line: str) -> Path:
    return ROOT / ("requirements.lock" if line == NEWEST else f"requirements-{line}.lock")


def refusal(line: str, python: tuple, system: str, machine: str, libc: str) -> str:
    """Why this can't be set up here, in one sentence with the way out; empty if it can."""
    lock = lock_file(line).name
    if line not in LINES:
        return f"Salt {line} is not supported: make … SALT=" + " or SALT=".join(LINES)
    if not PYTHONS[0] <= python[:2] <= PYTHONS[1]:
        found, oldest, newest = (".".join(map(str, version)) for version in (python[:2], *PYTHONS))
        return f"{lock} is for Python {oldest} to {newest}, found {found}: make … PYTHON=python{newest}"
    if system != "Linux" or machine not in MACHINES or libc != "glibc":
        here = " ".join(part for part in (system, machine, libc) if part)
        return f"{lock} is for Linux with glibc on {' and '.join(MACHINES)}, and this is {here}"
    if not lock_file(line).exists():
        return f"{lock} is missing: git checkout {lock}"
    return ""


def locked(lock: str, name: str) -> str:
    """The lines of a lock file for one package, with its hashes."""
    found = re.search(rf"^{re.escape(name)}==.*?(?=^\S|\Z)", lock, re.MULTILINE | re.DOTALL)
    if not found:
        raise SystemExit(f"{name} is not in the lock: make update")
    return found.group()


def install_uv(python: Path, lock: Path) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as requirement:
        requirement.write(locked(lock.read_text(), "uv"))
        requirement.flush()
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--require-hashes", "-r", requirement.name], check=True)


def sync(uv: Path, python: Path, lock: Path) -> None:
    """Make the environment of this Python equal to the lock."""
    words = [str(uv), "pip", "sync", "--quiet", "--python", str(python), "--require-hashes"]
    subprocess.run([*words, "--build-constraints", str(lock), str(lock)], check=True)


def install(folder: Path, lock: Path) -> None:
    venv.create(folder, with_pip=True, clear=True)
    python, uv = folder / "bin" / "python", folder / "bin" / "uv"
    install_uv(python, lock)
    sync(uv, python, lock)
    # setuptools is in the lock, so nothing is fetched to build this checkout.
    editable = ["--no-deps", "--no-build-isolation", "--editable", str(ROOT)]
    subprocess.run([str(uv), "pip", "install", "--quiet", "--python", str(python), *editable], check=True)


def compile_all(folder: Path) -> None:
    """Where PYTHONDONTWRITEBYTECODE is set, each salt-run would compile all of Salt again (2 s)."""
    python = folder / "bin" / "python"
    trees = [str(folder / "lib"), str(ROOT / "saltform"), str(ROOT / "hive_emulator"), str(ROOT / "proxmox_emulator")]
    # Not checked: some packages hold files for Python 2.
    subprocess.run([str(python), "-m", "compileall", "-qq", "-j", "0", *trees])


def main(line: str, folder: Path) -> None:
    why = refusal(line, sys.version_info, platform.system(), platform.machine(), platform.libc_ver()[0])
    if why:
        raise SystemExit(why)
    try:
        install(folder, lock_file(line))
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"setting up {folder} ended in {error.returncode}, see above; make … starts over") from None
    compile_all(folder)
    (folder / ".ready").touch()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
