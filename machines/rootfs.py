"""Builds the root file system that machines share: what ``make machines`` runs.

    python -m machines.rootfs --wheel dist/saltform-….whl --lock requirements.lock

1. debootstrap, by package names, into a folder of the cache: once, and again when the list of packages changes.
2. A copy of it gets systemd's and cloud-init's settings for machines, Salt's minion and the wheel in a virtual
   environment, and no package source: nothing is fetched at boot.
3. The copy is made beside the old one and takes its place at the end: machines that run keep theirs.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from machines.disks import mounts_below

SUITE = "bookworm"
PACKAGES = """
    ca-certificates cloud-init curl dbus e2fsprogs iproute2 iputils-ping kmod netcat-openbsd nftables openssh-server
    procps python3 python3-cffi-backend sudo systemd systemd-sysv
""".split()
# What belongs to hardware, or would start by itself and fetch something.
MASKED = """
    apt-daily-upgrade.timer apt-daily.timer cloud-init-hotplugd.socket dev-hugepages.mount dpkg-db-backup.timer
    e2scrub_all.timer e2scrub_reap.service fstrim.timer getty.target proc-sys-fs-binfmt_misc.automount
    remote-fs.target sys-fs-fuse-connections.mount sys-kernel-config.mount sys-kernel-debug.mount
    sys-kernel-tracing.mount systemd-binfmt.service systemd-networkd-wait-online.service systemd-pstore.service
    systemd-timesyncd.service systemd-udev-trigger.service systemd-udevd-control.socket
    systemd-udevd-kernel.socket systemd-udevd.service
""".split()
# sshd first: whoever waits for a machine gets in before cloud-init has done its work. An order can't be taken back
# by a drop-in, so the two units are written anew.
_DROPPED = (
    "Before=",
    "DefaultDependencies=",
    "Wants=ssh",
    "After=hv_kvp",
    "After=networking",
    "After=systemd-networkd",
)
_FIRST = "After=ssh.service basic.target"
CLOUD_CONFIG = """\
network: {config: disabled}
ssh_deletekeys: false
ssh_genkeytypes: [ed25519]
apt_preserve_sources_list: true
"""
VENV = "opt/saltform"
_SCRIPT = "#!/{venv}/bin/python3\nimport sys\nfrom salt.scripts import {name}\nsys.exit({name}())\n"
_MINION = """\
[Unit]
Description=The Salt Minion
After=network.target

[Service]
Type=simple
KillMode=process
LimitNOFILE=8192
ExecStart=/usr/bin/salt-minion

[Install]
WantedBy=multi-user.target
"""


def default_cache() -> Path:
    """Where root file systems are kept; SALTFORM_MACHINES names another place."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("SALTFORM_MACHINES") or cache / "saltform" / "machines")


def build(cache: Path, wheel: Path, lock: Path) -> Path:
    """The root file system of this very wheel; made only if it isn't there."""
    recipe = [Path(__file__).read_bytes(), lock.read_bytes(), wheel.read_bytes()]
    digest = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in recipe)).hexdigest()[:12]
    ready, current = cache / f"rootfs-{digest}", cache / "debian-12"
    if not ready.exists():
        unfinished = cache / f"unfinished-{digest}"
        shutil.rmtree(unfinished, ignore_errors=True)
        _run(["cp", "-a", "--reflink=auto", str(_base(cache)), str(unfinished)])
        prepare(unfinished)
        install(unfinished, wheel, lock)
        unfinished.rename(ready)
    link = cache / "debian-12.new"
    link.unlink(missing_ok=True)
    link.symlink_to(ready.name)
    link.replace(current)
    _forget_older(cache, ready)
    return current


def _base(cache: Path) -> Path:
    digest = hashlib.sha256(" ".join([SUITE, *PACKAGES]).encode()).hexdigest()[:12]
    ready, unfinished = cache / f"base-{digest}", cache / f"unfinished-base-{digest}"
    if not ready.exists():
        cache.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(unfinished, ignore_errors=True)
        print(f"building {ready} with debootstrap: this takes a few minutes, once", flush=True)
        _run(["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", SUITE, str(unfinished)])
        unfinished.rename(ready)
    return ready


def prepare(root: Path) -> None:
    """Settings of systemd, sshd and cloud-init for a machine without hardware."""
    for key in (root / "etc/ssh").glob("ssh_host_*"):
        key.unlink()
    units = root / "etc/systemd/system"
    for unit in MASKED:
        (units / unit).unlink(missing_ok=True)
        (units / unit).symlink_to("/dev/null")
    for unit in ("cloud-init.service", "cloud-init-local.service"):
        lines = (root / "lib/systemd/system" / unit).read_text().splitlines()
        kept = [line for line in lines if not line.startswith(_DROPPED)]
        kept.insert(kept.index("[Unit]") + 1, _FIRST)
        (units / unit).write_text("\n".join(kept) + "\n")
    (root / "etc/cloud/cloud.cfg.d/90_machines.cfg").write_text(CLOUD_CONFIG)
    (root / "etc/apt/sources.list").write_text("# Machines fetch nothing.\n")


def install(root: Path, wheel: Path, lock: Path) -> None:
    """Salt's minion and the wheel, by the project's lock, for the Python that the root file system has."""
    _run(["chroot", str(root), "python3", "-m", "venv", "--without-pip", f"/{VENV}"])
    version = _run(
        ["chroot", str(root), "python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    ).strip()
    target = root / VENV / f"lib/python{version}/site-packages"
    words = [str(Path(sys.executable).with_name("uv")), "pip", "install", "--quiet", "--python-version", version]
    words += ["--target", str(target), "--constraints", str(lock), "--build-constraints", str(lock), str(wheel)]
    _run(words)
    for name in ("minion", "call"):
        script = root / f"usr/bin/salt-{name}"
        script.write_text(_SCRIPT.format(venv=VENV, name=f"salt_{name}"))
        script.chmod(0o755)
    (root / "etc/salt").mkdir(exist_ok=True)
    (root / "lib/systemd/system/salt-minion.service").write_text(_MINION)


def _forget_older(cache: Path, ready: Path) -> None:
    """Older ones go, but not from under a machine: an overlay names its lower folder in /proc/mounts."""
    used = Path("/proc/mounts").read_text()
    for each in [*cache.glob("rootfs-*"), *cache.glob("unfinished-*")]:
        if each != ready and str(each) not in used and not mounts_below(each):
            shutil.rmtree(each, ignore_errors=True)


def _run(words: list[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words[:3])} failed:\n{(done.stderr or done.stdout)[-2000:]}")
    return done.stdout


def main() -> None:
    """Entry point of ``make machines``."""
    parser = argparse.ArgumentParser(description="Build the root file system of machines.")
    parser.add_argument("--wheel", type=Path, required=True)
    parser.add_argument("--lock", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=default_cache())
    given = parser.parse_args()
    print(build(given.cache.absolute(), given.wheel, given.lock))


if __name__ == "__main__":
    main()
