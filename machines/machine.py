"""One machine: made, started, stopped, killed, looked at, removed.

1. ``create`` formats its disk and writes its seed.
2. ``start`` mounts it, makes its cgroup, and starts a small shell script in a session of its own. That script moves
   itself into the cgroup, runs systemd-nspawn (which makes the other namespaces and systemd as their first process),
   runs it again when the machine asks for a reboot, and notes at the end how it ended. So a machine needs nobody to
   watch it, and goes on when the process that started it is gone.
3. It runs while its cgroup has processes: no file can say so wrongly.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from machines import seed
from machines.cgroups import Cgroup
from machines.disks import Disk
from machines.errors import MachinesError
from machines.spec import MachineSpec

_REBOOT = 133  # systemd-nspawn's exit code for it
_NSPAWN_LEFT = Path("/run/systemd/nspawn/propagate")
_CONSOLE_KEPT = 64 * 1024  # bytes, as much as EC2 shows

_SCRIPT = """\
#!/bin/sh
{join}
echo $$ >{folder}/pid
while :; do
    {nspawn} </dev/null >>{folder}/console.log 2>&1
    code=$?
    [ $code = {reboot} ] || break
done
rm -f {folder}/pid
echo $code >{folder}/ended.new && mv {folder}/ended.new {folder}/ended
"""


@dataclass(frozen=True)
class Machine:
    """``folder`` has everything of it; ``prefix`` is in the name of whatever it has in the kernel."""

    spec: MachineSpec
    folder: Path
    prefix: str

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def root(self) -> Path:
        """Its file system, while it runs."""
        return self._disk.root

    @property
    def cgroup(self) -> Cgroup:
        return Cgroup(self.prefix, self.spec.name)

    @property
    def _disk(self) -> Disk:
        return Disk(self.folder, f"{self.prefix}-{self.spec.name}")

    def create(self) -> None:
        """Make its disk, with the seed on it."""
        self._disk.create(self.spec.disk)
        self._disk.mount(self.spec.rootfs)
        try:
            seed.plant(self.root, self.spec)
        except OSError as error:
            raise MachinesError(f"the first files of {self.name} can't be written: {error.strerror}") from error
        finally:
            self._disk.unmount()
        self._keep()

    def start(self) -> int:
        """Boot it; returns the process to wait for. It is up to systemd from here on."""
        if self.is_running():
            raise MachinesError(f"{self.name} runs already")
        self._disk.grow(self.spec.disk)
        self._disk.mount(self.spec.rootfs)
        self.cgroup.create(self.spec.memory, self.spec.cpus)
        (self.folder / "ended").unlink(missing_ok=True)
        script = self.folder / "run.sh"
        folder = shlex.quote(str(self.folder))
        nspawn = shlex.join(self._nspawn())
        script.write_text(_SCRIPT.format(join=self.cgroup.join(), folder=folder, nspawn=nspawn, reboot=_REBOOT))
        started = subprocess.Popen(
            ["/bin/sh", str(script)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"},
        )
        self._wait_until_booting(started)
        return started.pid

    def stop(self, grace: float = 30.0) -> None:
        """Ask systemd to power off, then end what is left; its disk stays."""
        nspawn = self._nspawn_pid()
        if nspawn is not None:
            with suppress(ProcessLookupError):
                os.kill(nspawn, signal.SIGTERM)  # nspawn passes on what makes systemd power off
            until = time.monotonic() + grace
            while self.is_running() and time.monotonic() < until:
                time.sleep(0.02)
        self.kill()

    def kill(self) -> None:
        """End it at once, as if its plug was pulled; its disk stays."""
        self.cgroup.kill()
        self.cgroup.remove()
        self._disk.unmount()
        (self.folder / "pid").unlink(missing_ok=True)
        forget_nspawn(self.prefix, self.name)

    def reboot(self) -> None:
        """Power off in order, and boot again."""
        self.stop()
        self.start()

    def remove(self) -> None:
        """End it, and delete all of it."""
        self.kill()
        shutil.rmtree(self.folder)

    def resized(self, spec: MachineSpec) -> Machine:
        """The same machine with other limits, from its next start on."""
        changed = Machine(spec, self.folder, self.prefix)
        changed._keep()
        return changed

    def is_running(self) -> bool:
        return bool(self.cgroup.processes())

    def supervisor(self) -> int | None:
        """The process that ends with the machine, for whoever waits; None when it doesn't run."""
        with suppress(OSError, ValueError):
            pid = int((self.folder / "pid").read_text())
            return pid if pid in self.cgroup.processes() else None
        return None

    def exit_code(self) -> int | None:
        """How it ended: 0 when it powered off. None while it runs, or when it was killed with its supervisor."""
        with suppress(OSError, ValueError):
            return int((self.folder / "ended").read_text())
        return None

    def leader(self) -> int | None:
        """Its first process, as the host sees it."""
        nspawn = self._nspawn_pid()
        children = _children(nspawn) if nspawn is not None else []
        return children[0] if children else None

    def console(self) -> str:
        """The last of what its console showed."""
        try:
            with (self.folder / "console.log").open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _CONSOLE_KEPT))
                return file.read().decode(errors="replace")
        except FileNotFoundError:
            return ""

    def execute(self, words: list[str], timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
        """Run a command inside, as its root."""
        leader = self.leader()
        if leader is None:
            raise MachinesError(f"{self.name} does not run")
        enter = ["nsenter", "--target", str(leader), "--all", "--"]
        return subprocess.run([*enter, *words], capture_output=True, text=True, timeout=timeout)

    def _keep(self) -> None:
        new = self.folder / "machine.new"
        new.write_text(self.spec.to_json())
        new.replace(self.folder / "machine.json")

    def _nspawn(self) -> list[str]:
        return [
            "systemd-nspawn",
            "--quiet",
            "--keep-unit",  # it is in the machine's cgroup already
            "--register=no",
            f"--directory={self.root}",
            f"--machine={self.prefix}-{self.name}",
            f"--hostname={self.spec.hostname.partition('.')[0]}",
            f"--network-namespace-path=/run/netns/{self.spec.namespace}",
            "--link-journal=no",
            "--resolv-conf=off",
            "--timezone=off",
            "--console=read-only",
            "--boot",
        ]

    def _nspawn_pid(self) -> int | None:
        supervisor = self.supervisor()
        children = _children(supervisor) if supervisor is not None else []
        return children[0] if children else None

    def _wait_until_booting(self, started: subprocess.Popen[bytes], timeout: float = 20.0) -> None:
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            if started.poll() is not None:
                said = self.console().strip().splitlines()
                self.kill()
                raise MachinesError(
                    f"{self.name} did not start: {said[-1] if said else f'code {started.returncode}'}"
                )
            if self.leader() is not None:
                return
            time.sleep(0.005)
        self.kill()
        raise MachinesError(f"{self.name} did not start within {timeout:g} s")


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def forget_nspawn(prefix: str, name: str) -> None:
    """Remove the folder that systemd-nspawn leaves when it is killed, or when /run isn't a tmpfs."""
    with suppress(OSError):
        (_NSPAWN_LEFT / f"{prefix}-{name}").rmdir()
