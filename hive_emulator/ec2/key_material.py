"""SSH key pairs: real keys, the texts they are handed out in, and the fingerprints as AWS computes them.

| key                 | fingerprint                                              |
|---------------------|----------------------------------------------------------|
| RSA made here       | SHA-1 of the private key in DER (PKCS#8), hex with colons |
| RSA imported        | MD5 of the public key in DER, hex with colons             |
| ED25519, either way | SHA-256 of the public key as SSH sends it, base64         |
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_public_key,
    load_ssh_public_key,
)

PrivateKey = rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey
PublicKey = rsa.RSAPublicKey | ed25519.Ed25519PublicKey

RSA_LENGTHS = (1024, 2048, 4096)


@dataclass(frozen=True)
class KeyPair:
    """What is kept of a key pair, and once, when it was made here, its private part."""

    key_type: str
    fingerprint: str
    public: str  # one line, as in authorized_keys, without a comment
    private: str = ""


class UnusableKeyError(ValueError):
    """The text is not a public key that can be imported; the message says why."""


def generate(key_type: str, key_format: str, comment: str) -> KeyPair:
    """A new key pair; ``key_format`` is pem or ppk."""
    key: PrivateKey
    if key_type == "ed25519":
        key = ed25519.Ed25519PrivateKey.generate()
        fingerprint = _ssh_fingerprint(key.public_key())
        pem_format = PrivateFormat.OpenSSH
    else:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        der = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        fingerprint = _colons(hashlib.sha1(der, usedforsecurity=False).digest())
        pem_format = PrivateFormat.TraditionalOpenSSL
    if key_format == "ppk":
        private = _putty(key, comment)
    else:
        private = key.private_bytes(Encoding.PEM, pem_format, NoEncryption()).decode()
    return KeyPair(key_type, fingerprint, _ssh_line(key.public_key()), private)


def parse(text: bytes) -> KeyPair:
    """A public key in one of the three formats that can be imported: OpenSSH, RFC 4716, DER in base64."""
    key = _load(text.strip())
    if isinstance(key, ed25519.Ed25519PublicKey):
        return KeyPair("ed25519", _ssh_fingerprint(key), _ssh_line(key))
    if not isinstance(key, rsa.RSAPublicKey):
        raise UnusableKeyError("Key type is not supported: expected an RSA or ED25519 public key")
    if key.key_size not in RSA_LENGTHS:
        raise UnusableKeyError(f"Key length {key.key_size} is not supported: expected 1024, 2048 or 4096")
    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return KeyPair("rsa", _colons(hashlib.md5(der, usedforsecurity=False).digest()), _ssh_line(key))


def _load(text: bytes) -> object:
    try:
        if text.startswith(b"---- BEGIN SSH2 PUBLIC KEY ----"):
            return load_ssh_public_key(_from_rfc4716(text))
        if b" " in text:
            return load_ssh_public_key(text)
        return load_der_public_key(base64.b64decode(text, validate=True))
    except (ValueError, TypeError, binascii.Error, UnsupportedAlgorithm, IndexError):
        raise UnusableKeyError("Key is not in valid OpenSSH public key format") from None


def _from_rfc4716(text: bytes) -> bytes:
    lines = text.replace(b"\\\n", b"").splitlines()[1:-1]
    blob = base64.b64decode(b"".join(line for line in lines if b":" not in line), validate=True)
    length = int.from_bytes(blob[:4], "big")
    return blob[4 : 4 + length] + b" " + base64.b64encode(blob)


def _ssh_line(key: PublicKey) -> str:
    return key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def _blob(key: PublicKey) -> bytes:
    return base64.b64decode(_ssh_line(key).split()[1])


def _ssh_fingerprint(key: PublicKey) -> str:
    return base64.b64encode(hashlib.sha256(_blob(key)).digest()).decode()


def _colons(digest: bytes) -> str:
    return digest.hex(":")


def _putty(key: PrivateKey, comment: str) -> str:
    """PuTTY's file format, version 3, without a passphrase (so the MAC's key is empty)."""
    if isinstance(key, rsa.RSAPrivateKey):
        algorithm, numbers = "ssh-rsa", key.private_numbers()
        private = b"".join(_mpint(n) for n in (numbers.d, numbers.p, numbers.q, numbers.iqmp))
    else:
        algorithm = "ssh-ed25519"
        seed = key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
        private = _string(seed)
    public = _blob(key.public_key())
    parts = (algorithm.encode(), b"none", comment.encode(), public, private)
    mac = hmac.new(b"", b"".join(_string(part) for part in parts), hashlib.sha256).hexdigest()
    lines = [f"PuTTY-User-Key-File-3: {algorithm}", "Encryption: none", f"Comment: {comment}"]
    for name, part in (("Public", public), ("Private", private)):
        text = base64.b64encode(part).decode()
        wrapped = [text[i : i + 64] for i in range(0, len(text), 64)]
        lines += [f"{name}-Lines: {len(wrapped)}", *wrapped]
    return "\r\n".join([*lines, f"Private-MAC: {mac}", ""])


def _string(part: bytes) -> bytes:
    return len(part).to_bytes(4, "big") + part


def _mpint(number: int) -> bytes:
    return _string(number.to_bytes(number.bit_length() // 8 + 1, "big"))
