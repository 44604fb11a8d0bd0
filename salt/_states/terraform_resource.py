"""
Terraform components as states, beside ordinary ones and joined to them by requisites.

A state names ``environment/component``; what the component is made of stands in pillar, and nothing of it here. It
works on the host where the component's state lives, in a highstate and with ``salt-call --local``.

.. code-block:: yaml

    staging/networking:
      terraform_resource.present: []

    staging/networking.vpc_id:
      terraform_resource.output:
        - matches: ^vpc-
        - require:
          - terraform_resource: staging/networking

Under ``test=True`` a real plan is made: ``None`` with the changes when there are some, ``True`` and no changes when
there are none.
"""

import importlib.util

__virtualname__ = "terraform_resource"


def __virtual__():
    if importlib.util.find_spec("saltform") is None:
        return False, "the Python package saltform is not installed here: salt-pip install saltform"
    return __virtualname__


def _do(command, *arguments):
    from saltform.bridge.minion import state_call
    from saltform.operations import component_states

    dunders = {name: globals()[name] for name in ("__opts__", "__pillar__", "__salt__")}
    return state_call(dunders, getattr(component_states, command), *arguments, bool(__opts__["test"]))


def present(name, refresh=False, preserve_data=True):
    """
    What pillar says about the component is what exists. Only this component: what it needs must be there.

    name
        The component, as ``environment/component``.

    refresh
        Compare with reality too when nothing has changed since the last apply.

    preserve_data
        ``False`` allows a component marked ``stateful`` to delete or replace what it holds.
    """
    return _do("present", name, {"refresh": refresh, "preserve_data": preserve_data})


def absent(name, preserve_data=True):
    """
    Nothing of the component exists. Refused while another component that needs it still has something.

    name
        The component, as ``environment/component``; one that has left the pillar too.

    preserve_data
        ``False`` destroys a component marked ``stateful`` too.
    """
    return _do("absent", name, {"preserve_data": preserve_data})


def output(name, **condition):
    """
    A condition on an output, for others to require. It changes nothing.

    name
        The output, as ``environment/component.output``.

    exists
        ``True`` (when no condition is given) or ``False``.

    equals
        The value that it must have, of the same type.

    matches
        A regular expression that is found in it, written as text or, for lists and maps, as JSON.
    """
    given = {key: value for key, value in condition.items() if not key.startswith("__")}
    return _do("output", name, given)


def mod_watch(name, sfun=None, **kwargs):
    """
    Something that the component watches has changed: apply it again, and compare with reality while doing so.

    name
        The component, as ``environment/component``.

    sfun
        The function that watches.
    """
    given = {key: kwargs[key] for key in ("preserve_data",) if key in kwargs}
    if sfun == "absent":
        return absent(name, **given)
    if sfun == "output":
        return output(name, **{key: kwargs[key] for key in _CONDITIONS if key in kwargs})
    return present(name, refresh=True, **given)


_CONDITIONS = ("exists", "equals", "matches")
