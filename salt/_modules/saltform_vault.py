"""
The keys of a Vault (or OpenBao) that Saltform deployed: made once, put into a safe, used to unseal it.

The key shares and the root token go straight from the new Vault into the safe. They are never returned, so they are
in no job cache, event or log. Settings come from the master's pillar, never from arguments or the pillar of a call:

.. code-block:: yaml

    vault:
      address: https://10.20.1.5:8200
      ca: /etc/pki/vault-ca.pem
      shares: 5
      threshold: 3
      safe:
        gpg: {recipients: [58C6…BEDE], file: /srv/saltform/keys/vault-staging.asc}   # whole fingerprints
        # or: vault: {address: https://vault.example.com:8200, auth: {…}, path: secret/vaults/staging}

It talks to Vault over the network: run it where the safe can be opened, which for GPG is the host with a private key.
"""

import importlib.util

__virtualname__ = "saltform_vault"


def __virtual__():
    if importlib.util.find_spec("saltform") is None:
        return (
            False,
            "the Python package saltform is not here: state.apply terraform installs it (README, Install)",
        )
    return __virtualname__


def status(key="vault"):
    """
    Whether the Vault is initialised and sealed.

    key
        Where its settings are in pillar.

    CLI Example:

    .. code-block:: bash

        salt-call saltform_vault.status
    """
    return _do("status", key)


def ready(key="vault"):
    """
    Initialise the Vault if it is new, and unseal it if it is sealed: at its first start, and after every restart.

    key
        Where its settings are in pillar.

    CLI Example:

    .. code-block:: bash

        salt-call saltform_vault.ready
        salt-call saltform_vault.ready vaults:staging
    """
    return _do("ready", key)


def _do(verb, key):
    from salt.exceptions import CommandExecutionError
    from salt.utils.data import traverse_dict_and_list

    from saltform.bridge.minion import job_pillar
    from saltform.credentials import vault_init
    from saltform.errors import SaltformError

    try:
        pillar = job_pillar(__opts__)
        settings = traverse_dict_and_list(pillar, key, {})
        return vault_init.ready(settings, pillar) if verb == "ready" else vault_init.status(settings)
    except SaltformError as error:
        raise CommandExecutionError(str(error)) from None
