"""HTTPS with a CA of the emulator's own, made once and kept in the data folder."""

from __future__ import annotations

import datetime
import ipaddress
import os
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAYS = datetime.timedelta(days=3650)


def make(folder: Path, host: str) -> None:
    """`ca.pem`, `server.pem` and `server.key` for loopback and a host, unless they are there."""
    if (folder / f"server-{host}.pem").exists():
        return
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca = _certificate("Proxmox emulator CA", ca_key.public_key(), "Proxmox emulator CA", ca_key, [])
    names: list[x509.GeneralName] = [x509.DNSName("localhost"), *_address(host)]
    server = _certificate(host, key.public_key(), "Proxmox emulator CA", ca_key, names)
    private = serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(serialization.Encoding.PEM, private, serialization.NoEncryption())
    _write(folder / f"server-{host}.key", secret)
    _write(folder / "ca.pem", ca.public_bytes(serialization.Encoding.PEM))
    _write(folder / f"server-{host}.pem", server.public_bytes(serialization.Encoding.PEM))


def _address(host: str) -> list[x509.GeneralName]:
    try:
        return [x509.IPAddress(ipaddress.ip_address(host))]
    except ValueError:
        return [x509.DNSName(host)]


def _certificate(
    name: str,
    key: ec.EllipticCurvePublicKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    names: list[x509.GeneralName],
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.timezone.utc)
    common = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)]) for text in (name, issuer)]
    builder = x509.CertificateBuilder(common[1], common[0], key, x509.random_serial_number(), now, now + _DAYS)
    builder = builder.add_extension(x509.BasicConstraints(ca=not names, path_length=None), critical=True)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
