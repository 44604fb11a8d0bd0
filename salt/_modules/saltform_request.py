"""
Ask the master for a run, from a minion that is on an environment's list (``requests:``, see docs/events.md).

It needs nothing but Salt on the minion: ``salt-call saltutil.sync_modules`` brings it.
"""

import base64
import fcntl
import hashlib
import hmac
import secrets
from pathlib import Path

__virtualname__ = "saltform_request"
KEY = "saltform_request"  # in the minion's data store


def __virtual__():
    return __virtualname__


def send(verb, environment, components=""):
    """
    Ask for a run, and return the request's ``nonce``: the answer, the event ``saltform/answer/<minion>`` on this
    minion's own bus, has it as ``request``.

    The digest of exactly this request is put into the minion's data store, where the master looks it up before
    anything runs. One request at a time: a new one takes the place of one that the master has not taken yet.

    verb
        ``plan``, ``deploy`` or ``drift``.

    environment
        The environment.

    components
        Names or globs, with commas between or as a list. All of them when left out.

    CLI Example:

    .. code-block:: bash

        salt-call saltform_request.send deploy staging components=consul
    """
    listed = components if isinstance(components, list) else [components or ""]
    joined = ",".join(name.strip() for each in listed for name in str(each).split(","))
    nonce = f"n{secrets.token_hex(16)}"  # a letter first: what looks like a number stays text
    lines = "\n".join((str(verb), str(environment), joined, nonce))
    __salt__["data.update"](KEY, hashlib.sha256(lines.encode()).hexdigest())
    asked = {"environment": str(environment), "components": joined, "nonce": nonce}
    sent = __salt__["event.send"](f"saltform/request/{verb}", asked)
    return {"nonce": nonce, "sent": bool(sent)}


def confirm(digest, sealed):
    """
    For the master: what this minion's data store holds of its request. If that is ``digest``, it is used up by this.

    The answer is signed with a secret that only this minion can open: another one hears the question, too.

    digest
        The digest of the request that the master has got.

    sealed
        A secret, encrypted with this minion's public key.

    CLI Example:

    .. code-block:: bash

        salt ci-1.example.com saltform_request.confirm DIGEST SEALED
    """
    secret = _context(sealed)
    # Two questions at once: the same event was sent twice, or two masters heard it.
    with Path(__opts__["cachedir"], "saltform_request.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        held = str(__salt__["data.get"](KEY))
        if held == digest and not __salt__["data.cas"](KEY, f"used {digest}", digest):
            held = "None"
    return {"held": held, "proof": hmac.new(secret, held.encode(), hashlib.sha256).hexdigest()}


def _context(sealed):
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key = load_pem_private_key(Path(__opts__["pki_dir"], "minion.pem").read_bytes(), password=None)
    oaep = padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), None)
    return key.decrypt(base64.b64decode(sealed), oaep)
