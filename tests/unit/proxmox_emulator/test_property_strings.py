"""Property strings."""

from __future__ import annotations

from proxmox_emulator import property_strings


def test_a_comma_at_the_end_is_ignored():
    assert property_strings.parse("file=a:cloudinit,media=cdrom,", "file") == {
        "file": "a:cloudinit",
        "media": "cdrom",
    }


def test_the_default_key_is_written_first_and_bare():
    assert property_strings.render({"size": "1G", "file": "a:b", "discard": "on"}, "file") == "a:b,discard=on,size=1G"
