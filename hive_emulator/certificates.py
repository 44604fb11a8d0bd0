"""A private CA and a server certificate in the data folder, made once and renewed before they end."""

from __future__ import annotations

import ipaddress
import os
import ssl
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

_CA_LIFE = timedelta(days=3650)
_LIFE = timedelta(days=397)  # clients refuse server certificates that live longer
_END = "# good until "
_RENEW_BEFORE = 30 * 24 * 3600


def server_context(data_dir: Path, host: str) -> ssl.SSLContext:
    """A TLS context for ``host``; ``ca.pem`` in ``data_dir`` is what clients have to trust."""
    pem = data_dir / f"server-{_file_name(host)}.pem"
    if not _is_good(pem) or not (data_dir / "ca.pem").exists():
        _make(data_dir, pem, host)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pem)
    return context


def _file_name(host: str) -> str:
    return "".join(c if c.isalnum() or c in ".-" else "_" for c in host)


def _is_good(pem: Path) -> bool:
    """True when the certificate is there and not about to end (its file's first line says when that is)."""
    if not pem.exists():
        return False
    end = pem.read_text().partition("\n")[0].removeprefix(_END)
    return end.isdigit() and int(end) - time.time() > _RENEW_BEFORE


def _make(data_dir: Path, pem: Path, host: str) -> None:
    from cryptography.hazmat.primitives.asymmetric import ec

    ca_key, ca = _authority(data_dir)
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _certificate("Hive emulator", key, ca.subject, ca_key, _LIFE, host=host)
    end = f"{_END}{int(certificate.not_valid_after_utc.timestamp())}\n".encode()
    _write(pem, end + _key_text(key) + _text(certificate))


def _authority(data_dir: Path) -> tuple[Any, Any]:
    """The CA: read, or made at the first start."""
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key_file, ca_file = data_dir / "ca-key.pem", data_dir / "ca.pem"
    if key_file.exists() and ca_file.exists():
        key = serialization.load_pem_private_key(key_file.read_bytes(), None)
        return key, x509.load_pem_x509_certificate(ca_file.read_bytes())
    key = ec.generate_private_key(ec.SECP256R1())
    ca = _certificate("Hive emulator CA", key, None, key, _CA_LIFE)
    _write(key_file, _key_text(key))
    _write(ca_file, _text(ca))
    return key, ca


def _certificate(name: str, key: Any, issuer: Any, signer: Any, life: timedelta, host: str = "") -> Any:
    """A certificate for ``key``: a server's when ``host`` is given, else a CA's."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(timezone.utc)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer or subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + life)
        .add_extension(x509.BasicConstraints(ca=not host, path_length=None if host else 0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .add_extension(_usage(x509, ca=not host), critical=True)
    )
    if host:
        server_auth = x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.SERVER_AUTH])
        builder = builder.add_extension(server_auth, critical=False)
        builder = builder.add_extension(_names(x509, host), critical=False)
    return builder.sign(signer, hashes.SHA256())


def _usage(x509: Any, ca: bool) -> Any:
    names = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    never = dict.fromkeys((*names, "encipher_only", "decipher_only"), False)
    return x509.KeyUsage(digital_signature=True, key_cert_sign=ca, crl_sign=ca, **never)


def _names(x509: Any, host: str) -> Any:
    """Where the server may be reached: ``host``, and this machine by its usual names."""
    found = {"localhost": x509.DNSName("localhost")}
    for each in (host, "127.0.0.1", "::1"):
        try:
            found[each] = x509.IPAddress(ipaddress.ip_address(each))
        except ValueError:
            found[each] = x509.DNSName(each)
    return x509.SubjectAlternativeName(found.values())


def _text(certificate: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM)


def _key_text(key: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _write(path: Path, text: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(text)
