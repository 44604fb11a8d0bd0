"""What is said of a Vault that its keys don't open."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import requests

from saltform.credentials import vault_init
from saltform.errors import CredentialError


@pytest.mark.parametrize(("keys", "said"), [(["a"], "1 share from"), (["a", "b"], "2 shares from")])
def test_keys_that_do_not_open_it_are_counted(keys, said):
    server = SimpleNamespace(address="https://vault.test", ask=lambda *_, **__: {"sealed": True})
    safe = SimpleNamespace(name="the safe", load=lambda: {"keys": keys})
    with pytest.raises(CredentialError) as caught:
        vault_init._unseal(server, safe)
    assert caught.value.detail.startswith(said)


def test_a_certificate_that_is_not_trusted_is_mended_where_this_vaults_settings_are(monkeypatch):
    """Not at infrastructure:vault, which is the Vault that lends credentials."""

    def refuse(*_, **__):
        raise requests.exceptions.SSLError

    with vault_init._Server({"address": "https://vault.test"}) as server:
        monkeypatch.setattr(server._client.adapter, "request", refuse)
        with pytest.raises(CredentialError) as caught:
            server.status()
    assert caught.value.fix.startswith("set vault:ca to ")
