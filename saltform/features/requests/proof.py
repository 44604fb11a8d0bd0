"""The proof that an answer is the minion's own: every minion hears every job, and can forge another one's return.

1. The master makes a secret for each question, and seals it with the public key that it has accepted under that id.
2. The minion opens it with its private key, and returns what its data store held with the HMAC of that under the
   secret: `saltform_request.confirm`. Whoever else answers doesn't know the secret.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Any

from saltform.errors import NotAllowed
from saltform.features.requests.form import refused
from saltform.minions import ACCEPTED, Minions


class Question:
    """What one minion is asked: `sealed` goes with it."""

    def __init__(self, minions: Minions, minion: str) -> None:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import padding, rsa
        from cryptography.hazmat.primitives.serialization import load_pem_public_key

        self._minion, self._secret = minion, secrets.token_bytes(32)
        if minions.keys().get(minion) != ACCEPTED:
            raise refused(minion, "its key is not accepted")
        key = load_pem_public_key(minions.public_key(minion).encode())
        assert isinstance(key, rsa.RSAPublicKey)  # noqa: S101 (Salt has no other)
        oaep = padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), None)
        self.sealed = base64.b64encode(key.encrypt(self._secret, oaep)).decode()

    def held(self, answer: Any) -> str:
        """What the minion's data store held, if it is the minion who says so."""
        if not isinstance(answer, Mapping):
            raise _unproved(self._minion, f"it returned {str(answer)[:100]!r}")
        held, proof = str(answer.get("held")), str(answer.get("proof"))
        expected = hmac.new(self._secret, held.encode("utf-8", "replace"), hashlib.sha256).hexdigest()
        if not hmac.compare_digest(expected.encode(), proof.encode("utf-8", "replace")):
            raise _unproved(self._minion, "the answer is not signed with its key: another minion may have given it")
        return held


def _unproved(minion: str, why: str) -> NotAllowed:
    error = refused(minion, why)
    error.fix = f"if its module saltform_request is old or missing: salt {minion} saltutil.sync_modules"
    return error
