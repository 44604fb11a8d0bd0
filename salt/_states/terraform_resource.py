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

Salt's own state keywords (``require``, ``order``, ``retry`` …) work as everywhere; any other argument that a function
doesn't have is refused.

Under ``test=True`` a real plan is made: ``None`` with the changes when there are some, ``True`` and no changes when
there are none.
"""

import importlib.util

__virtualname__ = "terraform_resource"


def __virtual__():
    if importlib.util.find_spec("saltform") is None:
        return (
            False,
            "the Python package saltform is not here: state.apply terraform installs it (README, Install)",
        )
    return __virtualname__


def _do(command, name, given, known):
    from saltform.bridge.minion import state_call
    from saltform.verbs import component_states

    dunders = {name: globals()[name] for name in ("__opts__", "__salt__")}
    return state_call(dunders, getattr(component_states, command), name, given, known)


def mod_init(low):
    """
    Salt calls this before the first state of a job: the master's pillar is compiled once for all of them.

    low
        The state that comes first.
    """
    from saltform.bridge.minion import prefetch_pillar

    prefetch_pillar(__opts__)
    return True


def present(name, refresh=False, preserve_data=True, **kwargs):
    """
    What pillar says about the component is what exists. Only this component: what it needs must be there.

    name
        The component, as ``environment/component``.

    refresh
        Compare with reality too when nothing has changed since the last apply.

    preserve_data
        ``False`` allows a component marked ``stateful`` to delete or replace what it holds.
    """
    given = {**kwargs, "refresh": refresh, "preserve_data": preserve_data}
    return _do("present", name, given, ("refresh", "preserve_data"))


def absent(name, preserve_data=True, **kwargs):
    """
    Nothing of the component exists. Refused while another component that needs it still has something.

    name
        The component, as ``environment/component``; one that has left the pillar too.

    preserve_data
        ``False`` destroys a component marked ``stateful`` too.
    """
    return _do("absent", name, {**kwargs, "preserve_data": preserve_data}, ("preserve_data",))


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
    return _do("output", name, condition, ("exists", "equals", "matches"))


def mod_watch(name, sfun=None, **kwargs):
    """
    Something that the component watches has changed: apply it again, and compare with reality while doing so.

    name
        The component, as ``environment/component``.

    sfun
        The function that watches.
    """
    if sfun in ("absent", "output"):
        return globals()[sfun](name, **kwargs)
    return present(name, **{**kwargs, "refresh": True})
