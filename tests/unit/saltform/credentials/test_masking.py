"""Known secrets never leave, in any of their forms."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltform.credentials.masking import MASK, Masker, encodings

SECRET = 'p@ss/w+rd&<é>"\\x'
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA7bq\nK9dRrS2mNvTqLpXw==\n-----END RSA PRIVATE KEY-----\n"

secrets = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0"), min_size=6, max_size=60)


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
        base64.b64encode(f"user:{SECRET}".encode()).decode(),
        base64.b64encode(f"a{SECRET}".encode()).decode(),
        quote(SECRET),
        quote(SECRET, safe="").lower().replace("%c3%a9", "%c3%a9"),
        quote_plus(SECRET),
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        json.dumps(json.dumps(SECRET)),
        json.dumps(SECRET, ensure_ascii=False)
        .replace("&", "\\u0026")
        .replace("<", "\\u003c")
        .replace(">", "\\u003e"),
    ],
)
def test_every_form_is_masked(form):
    masked = Masker([SECRET]).line(f"before {form} after")
    assert MASK in masked
    assert masked.startswith("before ") and masked.endswith(" after")
    assert form not in masked


@given(secret=secrets, before=st.binary(max_size=5), after=st.binary(max_size=5))
def test_base64_is_found_at_any_offset(secret, before, after):
    coded = base64.b64encode(before + secret.encode() + after).decode()
    assert MASK in Masker([secret]).line(coded)


@given(secret=secrets, before=st.text(max_size=20), after=st.text(max_size=20))
def test_a_secret_is_never_left_in_a_text(secret, before, after):
    masked = Masker([secret]).line(before + secret + after)
    assert secret not in masked.replace(MASK, "")


def test_a_text_without_secrets_is_the_same_object():
    text = "nothing to see here"
    assert Masker([SECRET]).line(text) is text
    assert Masker().line(text) is text


@pytest.mark.parametrize("short", ["", "a", "admin", "8080"])
def test_nothing_short_is_masked_blindly(short):
    assert encodings(short) == set()
    assert Masker([short]).line("the admin listens on 8080 a lot") == "the admin listens on 8080 a lot"


def test_a_key_of_several_lines_is_masked_line_by_line_without_its_banner():
    masker = Masker([PEM])
    assert masker.line("  MIIEowIBAAKCAQEA7bq") == f"  {MASK}"
    assert masker.line('{"msg":"K9dRrS2mNvTqLpXw=="}') == f'{{"msg":"{MASK}"}}'
    assert masker.line("-----BEGIN RSA PRIVATE KEY-----") == "-----BEGIN RSA PRIVATE KEY-----"
    assert masker.line(json.dumps(PEM)) == f'"{MASK}"'


def test_the_private_key_inside_a_google_key_file_is_masked_and_its_public_parts_are_not():
    key = json.dumps({"type": "service_account", "private_key": PEM, "client_email": "robot@example.com"}, indent=2)
    masker = Masker([key])
    assert masker.line("error with MIIEowIBAAKCAQEA7bq") == f"error with {MASK}"
    assert masker.line("as robot@example.com, a service_account") == "as robot@example.com, a service_account"


def test_the_longest_of_overlapping_secrets_is_masked_whole():
    assert Masker(["hunter2", "hunter2-and-more"]).line("hunter2-and-more hunter2") == f"{MASK} {MASK}"


def test_secrets_that_share_letters_leave_no_tail():
    """Leftmost-longest alone masks the first one, and shows what the second has beyond it."""
    masker = Masker(["password-alpha", "alpha-and-omega", "omega-at-the-end"])
    assert masker.line("[password-alpha-and-omega-at-the-end]") == f"[{MASK}]"
    assert masker.data(b"password-alpha-and-omega password-alpha") == f"{MASK} {MASK}".encode()
    assert masker.line("password-alphaalpha-and-omega") == MASK * 2


@given(st.lists(st.text("ab-", min_size=6, max_size=9), min_size=1, max_size=6), st.text("ab-", max_size=40))
def test_no_letter_of_any_match_is_left(found, text):
    masked = Masker(found).line(text)
    hidden = {at + n for s in found for at in range(len(text)) if text.startswith(s, at) for n in range(len(s))}
    assert masked.replace(MASK, "") == "".join(letter for at, letter in enumerate(text) if at not in hidden)


def test_a_secret_with_backslashes_before_b_and_f_is_found_as_terraform_prints_it():
    for secret in ("back\\b&slash", "bell\b&feed\f"):
        printed = json.dumps(secret).replace("&", "\\u0026")
        assert Masker([secret]).line(printed) == f'"{MASK}"'


def test_secrets_can_be_added_while_it_is_used():
    masker = Masker(["first-secret"])
    masker.add(["second-secret"])
    assert masker.line("first-secret second-secret") == f"{MASK} {MASK}"
    assert "secret" not in repr(masker).replace("secrets", "")


@given(
    st.lists(st.sampled_from([SECRET, json.dumps(SECRET), "K9dRrS2mNvTqLpXw==", "MIIEowIB", "fine", ""]), max_size=40)
)
def test_a_search_of_many_lines_finds_those_that_have_something_to_mask(lines):
    masker = Masker([SECRET, PEM])
    found = masker.find_lines("\n".join(f"a {line} z" for line in lines).encode())
    assert found == {number for number, line in enumerate(lines) if masker.line(f"a {line} z") != f"a {line} z"}


def test_a_key_of_several_lines_is_found_in_each_line_of_a_block_and_so_is_what_was_added_later():
    masker = Masker([PEM])
    block = f"first\n{PEM}last second-secret".encode()
    assert masker.find_lines(block) >= {2, 3}
    assert 5 not in masker.find_lines(block)
    masker.add(["second-secret"])
    assert 5 in masker.find_lines(block)
    assert Masker().find_lines(block) == set()


def test_more_secrets_than_are_searched_for_at_once_are_all_found():
    secrets = [f"secret-number-{number}-of-many" for number in range(200)]
    assert Masker(secrets).find_lines("\n".join(["nothing", *secrets]).encode()) == set(range(1, 201))


def test_a_tree_is_masked_in_keys_values_and_lists():
    tree = {"detail": ["hunter2hunter2", 3, None], "hunter2hunter2": {"a": ("x hunter2hunter2",)}}
    assert Masker(["hunter2hunter2"]).tree(tree) == {"detail": [MASK, 3, None], MASK: {"a": [f"x {MASK}"]}}
