"""A machine boots, is limited, keeps its disk, survives who started it, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import time

import pytest

from machines.errors import MachinesError
from machines.host import MachineHost

# A machine outlives who started it on purpose: its supervisor is never waited for.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def wait_until(true, timeout=20.0):
    until = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < until, "it didn't happen"
        time.sleep(0.05)


def test_ssh_answers_within_five_seconds_and_systemd_is_the_first_process(host, spec, ssh):
    began = time.monotonic()
    host.create(spec).start()
    done = ssh("hostname; ps -o comm= 1; sudo id -u")
    assert time.monotonic() - began < 5
    assert done.stdout.split() == ["m1", "systemd", "0"]


def test_a_full_disk_is_a_full_disk_and_the_root_file_system_is_untouched(host, spec, ssh):
    host.create(spec).start()
    done = ssh("dd if=/dev/zero of=/var/tmp/full bs=1M count=100")
    assert "No space left on device" in done.stderr
    assert not (spec.rootfs / "var/tmp/full").exists()


def test_what_was_written_is_there_after_stop_and_start(host, spec, ssh):
    machine = host.create(spec)
    machine.start()
    ssh("echo kept >note; sync")
    machine.stop()
    assert not machine.is_running()
    assert machine.exit_code() == 0
    machine.start()
    assert ssh("cat note").stdout == "kept\n"


def test_memory_is_limited_by_the_cgroup(host, spec, ssh):
    host.create(spec).start()
    assert ssh("python3 -c 'bytearray(256 * 1024**2); print(1)'").stdout == "1\n"
    assert ssh("python3 -c 'bytearray(1024**3)'; echo $?").stdout == "137\n"


def test_a_reboot_from_inside_boots_it_again(host, spec, ssh):
    machine = host.create(spec)
    machine.start()
    ssh("true")
    before = machine.leader()
    machine.execute(["systemctl", "reboot"])
    wait_until(lambda: machine.leader() not in (None, before))
    assert ssh("cat /etc/hostname").stdout == "m1\n"


def test_a_killed_first_process_is_told_from_a_power_off(host, spec):
    machine = host.create(spec)
    machine.start()
    os.kill(machine.leader(), signal.SIGKILL)
    wait_until(lambda: machine.exit_code() is not None)
    assert machine.exit_code() != 0


def test_another_process_takes_a_running_machine_over(host, spec, ssh):
    host.create(spec).start()
    [found] = MachineHost(host.prefix, host.folder).machines().values()
    assert found.spec.hostname == "m1.test"
    assert found.is_running()
    ssh("true")
    found.remove()
    assert MachineHost(host.prefix, host.folder).machines() == {}


def test_a_machine_that_cannot_be_made_leaves_nothing(host, spec):
    broken = type(spec)(**{**spec.__dict__, "rootfs": spec.rootfs / "nowhere"})
    with pytest.raises(MachinesError, match="mount"):
        host.create(broken)
    assert host.names() == set()
