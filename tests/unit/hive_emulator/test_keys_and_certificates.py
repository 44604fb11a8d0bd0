"""Keys and certificates in the data folder."""

from __future__ import annotations

import stat
import time
from pathlib import Path

import pytest

from hive_emulator import certificates, keys


def test_a_key_is_made_once_and_kept(tmp_path: Path) -> None:
    [first] = keys.load(tmp_path, {})
    assert first.account == "000000000001"
    assert len(first.access_key) == 20
    assert len(first.secret) == 40
    assert keys.load(tmp_path, {}) == [first]
    assert stat.S_IMODE((tmp_path / "credentials").stat().st_mode) == 0o600


def test_the_file_is_one_that_boto3_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import botocore.session

    [key] = keys.load(tmp_path, {})
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    found = botocore.session.Session().get_credentials()
    assert (found.access_key, found.secret_key) == (key.access_key, key.secret)


def test_profiles_may_name_further_accounts(tmp_path: Path) -> None:
    [first] = keys.load(tmp_path, {})
    with (tmp_path / "credentials").open("a") as file:
        file.write("[b]\naws_access_key_id = B\naws_secret_access_key = 100%x\nhive_account = 000000000002\n")
    assert keys.load(tmp_path, {}) == [first, keys.Key("B", "100%x", "000000000002", "b")]


def test_the_environment_replaces_the_first_accounts_key_only(tmp_path: Path) -> None:
    keys.load(tmp_path, {})
    with (tmp_path / "credentials").open("a") as file:
        file.write("[b]\naws_access_key_id = B\naws_secret_access_key = S\nhive_account = 000000000002\n")
    given = {"HIVE_ACCESS_KEY_ID": "A", "HIVE_SECRET_ACCESS_KEY": "s"}
    assert [key.access_key for key in keys.load(tmp_path, given)] == ["A", "B"]
    assert [(key.access_key, key.secret) for key in keys.load(tmp_path, {})] == [("A", "s"), ("B", "S")]
    assert stat.S_IMODE((tmp_path / "credentials").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no profile"),
        ("nonsense", "is not an AWS credentials file"),
        ("[default]\naws_access_key_id = A\n", "'default' has no aws_secret_access_key"),
        ("[b]\naws_access_key_id=A\naws_secret_access_key=B\nhive_account=7\n", "is '7', expected 12 digits"),
        ("[b]\naws_access_key_id=A/B\naws_secret_access_key=B\n", "'b': aws_access_key_id is 'A/B', expected up to"),
    ],
)
def test_a_file_that_can_not_be_used_is_explained(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "credentials").write_text(text)
    with pytest.raises(keys.KeysError, match=words):
        keys.load(tmp_path, {})


@pytest.mark.parametrize(
    ("access_key", "secret", "words"),
    [
        ("a b", "s", "HIVE_ACCESS_KEY_ID is 'a b'"),
        ("é", "s", "is 'é'"),
        ("a", "sek ret", "HIVE_SECRET_ACCESS_KEY has"),
    ],
)
def test_a_key_that_no_client_could_sign_with_is_refused(
    tmp_path: Path, access_key: str, secret: str, words: str
) -> None:
    with pytest.raises(keys.KeysError, match=words) as caught:
        keys.load(tmp_path, {"HIVE_ACCESS_KEY_ID": access_key, "HIVE_SECRET_ACCESS_KEY": secret})
    assert secret not in str(caught.value) or secret == "s"
    assert not (tmp_path / "credentials").exists()


def test_a_certificate_is_kept_until_it_is_about_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificates.server_context(tmp_path, "127.0.0.1")
    server, ca = tmp_path / "server-127.0.0.1.pem", tmp_path / "ca.pem"
    before = server.read_bytes(), ca.read_bytes()
    certificates.server_context(tmp_path, "127.0.0.1")
    assert (server.read_bytes(), ca.read_bytes()) == before
    real = time.time
    monkeypatch.setattr(certificates.time, "time", lambda: real() + 380 * 24 * 3600)
    certificates.server_context(tmp_path, "127.0.0.1")
    assert server.read_bytes() != before[0]
    assert ca.read_bytes() == before[1]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "hive.example.com", "0.0.0.0"])
def test_a_certificate_has_the_names_it_is_reached_by(tmp_path: Path, host: str) -> None:
    from cryptography import x509

    certificates.server_context(tmp_path, host)
    [pem] = tmp_path.glob("server-*.pem")
    certificate = x509.load_pem_x509_certificate(pem.read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    found = {str(name.value) for name in names}
    assert {"localhost", "127.0.0.1", "::1", host} <= found
    ca = x509.load_pem_x509_certificate((tmp_path / "ca.pem").read_bytes())
    certificate.verify_directly_issued_by(ca)


def test_the_first_account_stays_what_it_was_and_another_one_is_refused(tmp_path: Path) -> None:
    [made] = keys.load(tmp_path, {}, "000000000009")
    assert keys.load(tmp_path, {}) == keys.load(tmp_path, {}, "000000000009") == [made]
    with pytest.raises(keys.KeysError, match="--account is 000000000005, but .* has the keys of 000000000009"):
        keys.load(tmp_path, {}, "000000000005")
    [given] = keys.load(tmp_path, {"HIVE_ACCESS_KEY_ID": "A", "HIVE_SECRET_ACCESS_KEY": "s"})
    assert given == keys.Key("A", "s", "000000000009")
