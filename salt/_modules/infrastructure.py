"""
Questions about an environment from a minion, and about what an orchestration is given. Nothing here changes or starts
anything.

Those about an environment are answered where the states live; every other minion has its outputs in pillar, under
``terraform``.
"""

import importlib
import importlib.util

__virtualname__ = "infrastructure"


def __virtual__():
    if importlib.util.find_spec("saltform") is None:
        return (
            False,
            "the Python package saltform is not here: state.apply terraform installs it (README, Install)",
        )
    return __virtualname__


def _ask(verb, *arguments):
    from saltform.bridge.minion import minion_call

    dunders = {name: globals()[name] for name in ("__opts__", "__salt__", "__context__")}
    work = getattr(importlib.import_module(f"saltform.verbs.{verb}"), verb)
    return minion_call(dunders, work, *arguments)


def components(environment):
    """
    The components of an environment in the order in which a deploy does them.

    environment
        The environment.

    CLI Example:

    .. code-block:: bash

        salt-call infrastructure.components staging
    """
    return _ask("validate", environment)["order"]


def graph(environment, format="tree"):
    """
    Which component needs which.

    environment
        The environment.

    format
        ``tree``, ``dot``, ``mermaid`` or ``svg``.

    CLI Example:

    .. code-block:: bash

        salt-call infrastructure.graph staging
    """
    return _ask("graph", environment, format)["text"]


def outputs(environment, component=None):
    """
    The outputs of an environment's components, by component. Sensitive values are not shown.

    environment
        The environment.

    component
        Names or globs; all when left out.

    CLI Example:

    .. code-block:: bash

        salt-call infrastructure.outputs staging networking
    """
    return _ask("outputs", environment, component)["outputs"]


def status(environment):
    """
    Where every component stands: applied, never applied, pending change, changed outside, half done, unreadable, no
    usable binary, orphan.

    environment
        The environment.

    CLI Example:

    .. code-block:: bash

        salt-call infrastructure.status staging
    """
    return _ask("status", environment)["components"]


def given_options(verb, own_keys=()):
    """
    For an orchestration: the arguments of a verb of the runner that it is given by ``pillar=``. A key that is neither
    one of them nor in ``own_keys`` is refused, with the nearest name.

    verb
        The verb, such as ``deploy``.

    own_keys
        Keys that the SLS itself reads. More of them can be given as ``own_keys`` in the orchestration's pillar.

    CLI Example:

    .. code-block:: jinja

        {%- set options = salt['infrastructure.given_options']('deploy') %}
    """
    from salt.exceptions import CommandExecutionError

    from saltform.bridge.orchestration import given_options as read
    from saltform.errors import SaltformError

    try:
        return read(dict(__opts__), verb, own_keys)
    except SaltformError as error:
        raise CommandExecutionError(str(error)) from None
