"""Key pairs: real keys, and fingerprints as the tools compute them that AWS's documentation names."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from hive_emulator.ec2 import key_material


def openssh(key):
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)


@pytest.fixture(scope="module")
def rsa_key():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def test_a_made_rsa_pair_is_a_real_key_whose_fingerprint_is_openssls(desk, tmp_path):
    made = desk("CreateKeyPair", KeyName="one")
    assert made["KeyMaterial"].startswith("-----BEGIN RSA PRIVATE KEY-----")
    assert load_pem_private_key(made["KeyMaterial"].encode(), None).key_size == 2048
    if not shutil.which("openssl"):
        pytest.skip("no openssl to compare with")
    (tmp_path / "key").write_text(made["KeyMaterial"])
    to_der = ["openssl", "pkcs8", "-in", tmp_path / "key", "-topk8", "-nocrypt", "-outform", "DER"]
    der = subprocess.run(to_der, capture_output=True, check=True).stdout
    said = subprocess.run(["openssl", "sha1", "-c"], input=der, capture_output=True, check=True).stdout.decode()
    assert said.split("= ")[1].strip() == made["KeyFingerprint"]


def test_a_made_ed25519_pair_is_a_real_key_whose_fingerprint_is_ssh_keygens(desk, tmp_path):
    made = desk("CreateKeyPair", KeyName="one", KeyType="ed25519")
    if not shutil.which("ssh-keygen"):
        pytest.skip("no ssh-keygen to compare with")
    private = tmp_path / "key"
    private.write_text(made["KeyMaterial"])
    private.chmod(0o600)
    said = subprocess.run(["ssh-keygen", "-l", "-f", private], capture_output=True, check=True, text=True).stdout
    assert f"SHA256:{made['KeyFingerprint'].rstrip('=')} " in said
    public = subprocess.run(["ssh-keygen", "-y", "-f", private], capture_output=True, check=True, text=True).stdout
    [shown] = desk("DescribeKeyPairs", IncludePublicKey=True)["KeyPairs"]
    assert shown["PublicKey"].split()[:2] == public.split()[:2]


@pytest.mark.parametrize("key_type", ["rsa", "ed25519"])
def test_a_pair_can_be_made_in_puttys_format(desk, key_type):
    text = desk("CreateKeyPair", KeyName="one", KeyType=key_type, KeyFormat="ppk")["KeyMaterial"]
    lines = text.split("\r\n")
    assert lines[:3] == [f"PuTTY-User-Key-File-3: ssh-{key_type}", "Encryption: none", "Comment: one"]
    count = int(lines[3].split(": ")[1])
    public = base64.b64decode("".join(lines[4 : 4 + count]))
    [shown] = desk("DescribeKeyPairs", IncludePublicKey=True)["KeyPairs"]
    assert base64.b64encode(public).decode() == shown["PublicKey"].split()[1]


def test_an_imported_rsa_key_has_the_md5_of_its_der(desk, rsa_key):
    made = desk("ImportKeyPair", KeyName="mine", PublicKeyMaterial=openssh(rsa_key) + b" me@example")
    der = rsa_key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert made["KeyFingerprint"] == hashlib.md5(der).digest().hex(":")
    assert "KeyMaterial" not in made
    [shown] = desk("DescribeKeyPairs", KeyNames=["mine"])["KeyPairs"]
    assert (shown["KeyType"], shown["KeyPairId"]) == ("rsa", made["KeyPairId"])


def test_all_three_import_formats_give_the_same_fingerprint(rsa_key):
    line = openssh(rsa_key)
    blob = line.split()[1].decode()
    wrapped = "\n".join(blob[i : i + 70] for i in range(0, len(blob), 70))
    rfc4716 = f'---- BEGIN SSH2 PUBLIC KEY ----\nComment: "me"\n{wrapped}\n---- END SSH2 PUBLIC KEY ----\n'
    der = base64.b64encode(rsa_key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))
    assert len({key_material.parse(text).fingerprint for text in (line, rfc4716.encode(), der)}) == 1


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"hello",
        b"ssh-rsa AAAA me",
        b"ssh-rsa !!!! me",
        b"-----BEGIN RSA PUBLIC KEY-----",
        b"\xff\xfe\x00",
        b"a b c",
    ],
)
def test_what_is_not_a_public_key_is_refused(desk, refused, text):
    with refused("InvalidKey.Format"):
        desk("ImportKeyPair", KeyName="bad", PublicKeyMaterial=text)


@pytest.mark.parametrize(
    ("key", "word"),
    [
        (lambda: ec.generate_private_key(ec.SECP256R1()), "RSA or ED25519"),
        (lambda: rsa.generate_private_key(public_exponent=65537, key_size=1536), "1536"),
    ],
)
def test_keys_that_ec2_does_not_take_are_refused_with_the_reason(desk, refused, key, word):
    with refused("InvalidKey.Format", word):
        desk("ImportKeyPair", KeyName="bad", PublicKeyMaterial=openssh(key()))


def test_a_name_can_be_used_once(desk, refused):
    key = openssh(ed25519.Ed25519PrivateKey.generate())
    desk("ImportKeyPair", KeyName="one", PublicKeyMaterial=key)
    for action, more in (("CreateKeyPair", {}), ("ImportKeyPair", {"PublicKeyMaterial": key})):
        with refused("InvalidKeyPair.Duplicate", "'one'"):
            desk(action, KeyName="one", **more)


def test_names_are_checked(desk, refused):
    with refused("MissingParameter", "KeyName"):
        desk("CreateKeyPair", KeyName=" ")
    with refused("InvalidParameterValue", "255"):
        desk("CreateKeyPair", KeyName="x" * 256)


def test_pairs_are_found_by_name_id_fingerprint_and_tag(desk, refused):
    tags = [{"ResourceType": "key-pair", "Tags": [{"Key": "team", "Value": "ops"}]}]
    key = openssh(ed25519.Ed25519PrivateKey.generate())
    one = desk("ImportKeyPair", KeyName="one", PublicKeyMaterial=key, TagSpecifications=tags)
    desk("ImportKeyPair", KeyName="two", PublicKeyMaterial=openssh(ed25519.Ed25519PrivateKey.generate()))
    for wanted in (
        {"KeyNames": ["one"]},
        {"KeyPairIds": [one["KeyPairId"]]},
        {"Filters": [{"Name": "fingerprint", "Values": [one["KeyFingerprint"]]}]},
        {"Filters": [{"Name": "tag:team", "Values": ["o*"]}]},
    ):
        assert [pair["KeyName"] for pair in desk("DescribeKeyPairs", **wanted)["KeyPairs"]] == ["one"]
    with refused("InvalidKeyPair.NotFound", "'three'"):
        desk("DescribeKeyPairs", KeyNames=["one", "three"])


def test_a_pair_is_deleted_by_name_or_id_and_to_delete_none_is_a_success(desk, refused):
    for by in ("KeyName", "KeyPairId"):
        made = desk("CreateKeyPair", KeyName="one", KeyType="ed25519")
        assert desk("DeleteKeyPair", **{by: made[by]}) == {"Return": True, "KeyPairId": made["KeyPairId"]}
        assert desk("DescribeKeyPairs")["KeyPairs"] == []
    assert desk("DeleteKeyPair", KeyName="never")["Return"] is True
    with refused("MissingParameter"):
        desk("DeleteKeyPair")
