"""What is said of a Vault that its keys don't open."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from saltform.credentials import vault_init
from saltform.errors import CredentialError


@pytest.mark.parametrize(("keys", "said"), [(["a"], "1 share from"), (["a", "b"], "2 shares from")])
def test_keys_that_do_not_open_it_are_counted(keys, said):
    server = SimpleNamespace(address="https://vault.test", ask=lambda *_, **__: {"sealed": True})
    safe = SimpleNamespace(name="the safe", load=lambda: {"keys": keys})
    with pytest.raises(CredentialError) as caught:
        vault_init._unseal(server, safe)
    assert caught.value.detail.startswith(said)
