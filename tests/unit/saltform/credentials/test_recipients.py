"""GPG recipients: one key of the ring by its fingerprint or whole address, or a reason why not."""

from __future__ import annotations

import pytest

from saltform.credentials.recipients import find, read_keys

FIRST, SECOND, SUBKEY = "A" * 40, "B" * 40, "C" * 40
RING = f"""tru:o:1:1794975135:1:3:1:5
pub:u:3072:1:E1F6A9A81E86BEDE:1794975132:::u:::scESC::::::23::0:
fpr:::::::::{FIRST}:
uid:u::::1794975132::8733::Ada L\\x3a. <ada@example.com>::::::::::0:
uid:r::::1794975132::8733::Ada <revoked@example.com>::::::::::0:
sub:u:3072:1:B6B175FC34D88213:1794975132::::::e::::::23:
fpr:::::::::{SUBKEY}:
pub:u:3072:1:CD8CCDE3DABD2817:1794975135:::u:::scESC::::::23::0:
fpr:::::::::{SECOND}:
uid:u::::1794975135::7170::Bob <bob@example.com>::::::::::0:
uid:u::::1794975135::7170::both@example.com::::::::::0:
""".splitlines()


@pytest.mark.parametrize(
    ("recipient", "fingerprint"),
    [
        (FIRST, FIRST),
        (f"0x{FIRST.lower()}", FIRST),
        (" ".join(["BBBB"] * 10), SECOND),
        (SUBKEY, FIRST),
        ("Ada@example.com", FIRST),
        ("both@example.com", SECOND),
    ],
)
def test_exactly_one_key_is_found(recipient, fingerprint):
    assert find(recipient, read_keys(RING)) == fingerprint


@pytest.mark.parametrize(
    ("recipient", "why"),
    [
        ("ada@example.co", "not in the key ring"),
        ("da@example.com", "not in the key ring"),
        ("revoked@example.com", "not in the key ring"),
        ("D" * 40, "not in the key ring"),
        ("A" * 16, "neither"),
        ("Ada", "neither"),
        ("<ada@example.com>", "neither"),
        ("", "neither"),
    ],
)
def test_anything_else_is_refused(recipient, why):
    with pytest.raises(ValueError, match=why):
        find(recipient, read_keys(RING))


def test_an_address_of_two_keys_is_refused_with_both():
    twice = [line.replace("bob@", "ada@") for line in RING]
    with pytest.raises(ValueError, match=f"2 times: {FIRST}, {SECOND}"):
        find("ada@example.com", read_keys(twice))
