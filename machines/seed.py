"""What a machine has of its own before its first boot: name, ids, host key, who may log in, and given files."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from machines.commands import run
from machines.errors import MachinesError
from machines.spec import Login, MachineSpec, SeedFile

_HOSTS = "127.0.0.1 localhost\n127.0.1.1 {name} {short}\n::1 localhost ip6-localhost ip6-loopback\n"


def plant(root: Path, spec: MachineSpec) -> None:
    """Write it into the mounted root of a machine that was never booted."""
    short = spec.hostname.partition(".")[0]
    _write(root, "/etc/hostname", SeedFile(f"{short}\n"))
    _write(root, "/etc/hosts", SeedFile(_HOSTS.format(name=spec.hostname, short=short)))
    # With an id there is no "first boot" in systemd's sense, which would enable and disable units by its own list.
    _write(root, "/etc/machine-id", SeedFile(f"{secrets.token_hex(16)}\n", 0o444))
    if (root / "etc/ssh").is_dir():
        key = root / "etc/ssh/ssh_host_ed25519_key"
        key.unlink(missing_ok=True)
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"root@{short}", "-f", str(key)])
    if spec.login:
        _add_login(root, spec.login)
    for path, file in spec.files.items():
        _write(root, path, file)


def _add_login(root: Path, login: Login) -> None:
    user = login.user
    if not any(line.startswith(f"{user}:") for line in (root / "etc/passwd").read_text().splitlines()):
        run(["useradd", "--root", str(root), "--create-home", "--shell", "/bin/bash", user])
        run(["usermod", "--root", str(root), "--lock", user])
    sudoers = SeedFile(f"{user} ALL=(ALL) NOPASSWD:ALL\n", 0o440)
    _write(root, f"/etc/sudoers.d/90-{user}", sudoers)
    home = _home(root, user)
    _write(root, f"{home}/.ssh/authorized_keys", SeedFile("".join(f"{k}\n" for k in login.public_keys), 0o600, user))
    (root / f"{home}/.ssh".lstrip("/")).chmod(0o700)


def _write(root: Path, path: str, file: SeedFile) -> None:
    """A link in the root file system is replaced, and never followed: it might lead out of the machine."""
    if not path.startswith("/") or ".." in Path(path).parts:
        raise MachinesError(f"a seed file's path must be absolute, without '..': {path}")
    user, group = _ids(root, file.user)
    place = root
    for part in Path(path).parts[1:-1]:
        place = place / part
        if place.is_symlink() and not place.exists():
            place.unlink()
        if not place.is_dir():
            place.mkdir()
            os.chown(place, user, group)
    target = place / Path(path).name
    if target.is_symlink():
        target.unlink()
    target.write_text(file.text)
    target.chmod(file.mode)
    os.chown(target, user, group)


def _ids(root: Path, user: str) -> tuple[int, int]:
    fields = _passwd(root, user)
    return int(fields[2]), int(fields[3])


def _home(root: Path, user: str) -> str:
    return _passwd(root, user)[5]


def _passwd(root: Path, user: str) -> list[str]:
    if user == "root":
        return ["root", "x", "0", "0", "root", "/root", "/bin/bash"]
    for line in (root / "etc/passwd").read_text().splitlines():
        if line.startswith(f"{user}:"):
            return line.split(":")
    raise MachinesError(f"the root file system has no user {user}")
