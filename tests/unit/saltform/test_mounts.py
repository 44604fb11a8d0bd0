"""Which file system a folder is on, and where a lock keeps nobody out."""

from __future__ import annotations

import ctypes
import os
import time

import pytest

from saltform import mounts
from saltform.errors import SaltformError
from saltform.mounts import check_flock, file_system
from tests.support.world import World

TABLE = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
28 27 0:25 / /srv rw,nosuid shared:7 master:1 - nfs4 filer:/srv rw,vers=4.2
29 28 0:26 / /srv/local rw - xfs /dev/vdb rw
30 27 0:27 / /mnt/with\040space rw - fuse.sshfs host:/ rw
31 27 0:28 / /auto rw - autofs auto.master rw
32 31 0:29 / /auto rw - cifs //filer/auto rw
33 27 0:30 / /host rw - 9p host rw
"""


@pytest.fixture
def table(tmp_path, monkeypatch):
    path = tmp_path / "mountinfo"
    path.write_text(TABLE)
    monkeypatch.setattr(mounts, "MOUNTS", path)
    return path


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/var/lib/saltform", "ext4"),
        ("/srv", "nfs4"),
        ("/srv/saltform", "nfs4"),
        ("/srvsaltform", "ext4"),
        ("/srv/local/saltform", "xfs"),
        ("/mnt/with space/saltform", "fuse.sshfs"),
        ("/auto/saltform", "cifs"),
        ("/host/saltform", "9p"),
    ],
)
def test_the_nearest_mount_point_counts(table, folder, kind):
    assert file_system(mounts.Path(folder)) == kind


@pytest.mark.parametrize("folder", ["/srv/saltform", "/mnt/with space/saltform", "/auto/saltform", "/host/saltform"])
def test_a_file_system_without_real_locks_is_refused_with_its_name(table, folder):
    with pytest.raises(SaltformError, match="without real locks") as caught:
        check_flock(mounts.Path(folder))
    assert f"{folder} is on {file_system(mounts.Path(folder))}" in caught.value.detail
    assert "saltform:state_dir" in caught.value.fix


@pytest.mark.parametrize("folder", ["/var/lib/saltform", "/srv/local/saltform"])
def test_a_local_one_is_fine(table, folder):
    assert check_flock(mounts.Path(folder)) in ("ext4", "xfs")


@pytest.mark.parametrize("name", ["states", "locks"])
def test_a_link_that_leads_to_one_is_refused_as_well(table, tmp_path, name):
    table.write_text(TABLE + f"40 27 0:30 / {tmp_path}/filer rw - nfs filer:/ rw\n")
    (tmp_path / "state").mkdir()
    (tmp_path / "filer").mkdir()
    (tmp_path / "state" / name).symlink_to(tmp_path / "filer")
    with pytest.raises(SaltformError, match=f"{name} is on nfs"):
        check_flock(tmp_path / "state")


def test_where_the_table_cant_be_read_nobody_is_kept_out(tmp_path, monkeypatch):
    monkeypatch.setattr(mounts, "MOUNTS", tmp_path / "none")
    assert check_flock(tmp_path) == "unknown"


def test_it_takes_no_time(tmp_path):
    began = time.thread_time()
    for _ in range(10):
        check_flock(tmp_path)
    assert time.thread_time() - began < 0.2


@pytest.mark.parametrize("verb", ["deploy", "plan", "destroy", "status", "drift"])
def test_nothing_starts_there(table, tmp_path, verb):
    table.write_text(TABLE + f"40 27 0:30 / {tmp_path} rw - nfs4 filer:/ rw\n")
    world = World(tmp_path)
    arguments = ("staging",) if verb == "status" else ("staging", {})
    returned = world.call(verb, *arguments)
    assert returned["retcode"] == 1
    assert returned["error"]["summary"] == "the state folder is on a file system without real locks"
    assert not world.state_dir.exists()


def test_preflight_says_so_in_its_table(table, tmp_path):
    table.write_text(TABLE + f"40 27 0:30 / {tmp_path} rw - fuse.glusterfs filer:/ rw\n")
    world = World(tmp_path)
    returned = world.call("preflight", "staging", None)
    assert (returned["retcode"], [item["check"] for item in returned["checks"]]) == (1, ["locks"])
    assert "fuse.glusterfs" in returned["checks"][0]["detail"] and returned["checks"][0]["fix"]
    assert not world.state_dir.exists()


@pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/dev/fuse"), reason="needs root and /dev/fuse")
def test_a_real_fuse_mount_is_refused_also_when_nobody_answers_there(tmp_path):
    point = tmp_path / "fuse"
    point.mkdir()
    libc, device = ctypes.CDLL(None, use_errno=True), os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    mounted = libc.mount(b"nobody", os.fsencode(point), b"fuse", 0, options)
    os.close(device)  # from here on whoever asks gets an error instead of an answer
    if mounted != 0:
        pytest.skip(f"FUSE can't be mounted here: {os.strerror(ctypes.get_errno())}")
    try:
        with pytest.raises(SaltformError, match="is on fuse"):
            check_flock(point / "saltform")
    finally:
        libc.umount2(os.fsencode(point), 2)
