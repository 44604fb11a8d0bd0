"""
Terraform's outputs as pillar: ``terraform:<environment>:<component>:<output>``.

On a master, with its ``saltform:`` block:

.. code-block:: yaml

    ext_pillar:
      - terraform_outputs: {}

A minion sees the outputs of a component when it matches the component's ``targets:``. An output that has ``targets:``
of its own under ``outputs:`` is for exactly the minions named there, by id or by the master's pillar, and that is the
only way in which a sensitive output reaches a minion.

.. code-block:: yaml

    networking:
      module: networking
      targets: 'web*'
    vault:
      module: vault-cluster
      targets: 'G@role:consul or vault*'
      outputs:
        unseal_key: {targets: [vault-1.example.com]}
        root_token: {targets: 'I@vault:role:server'}

No terraform is started. A state that can't be read is answered with what was read last, and ``terraform:_status``
says so.
"""

import importlib.util

__virtualname__ = "terraform_outputs"


def __virtual__():
    if importlib.util.find_spec("saltform") is None:
        return (
            False,
            "the Python package saltform is not here: salt-pip install . in a checkout of it (README, Install)",
        )
    return __virtualname__


def ext_pillar(minion_id, pillar, *args, **kwargs):
    """
    What the states say to this minion.

    minion_id
        The minion whose pillar is compiled.

    pillar
        What was compiled so far; not used.
    """
    from saltform.pillar_outputs import outputs_for

    known = []

    def match(expression):
        from saltform.bridge.matching import matcher  # most targets are globs, and need no matcher

        if not known:
            known.append(matcher(__opts__, minion_id))
        return known[0](expression)

    outputs = outputs_for(minion_id, __opts__, match)
    return {"terraform": outputs} if outputs else {}
