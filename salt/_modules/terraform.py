"""
Work on one Terraform component of pillar, on the host where its state lives.

A component is named ``environment/component``; what it is made of stands in pillar, and nothing of that can be given
here. Addresses of resources are written as in the module. Whatever changes something takes the component's lock and
is on record (``salt-run infrastructure.history``). Sensitive values are never returned.

On a minion that is not the home of components every function refuses, and says where to run it.
"""

import importlib.util

__virtualname__ = "terraform"


def __virtual__():
    if importlib.util.find_spec("saltform") is None:
        return (
            False,
            "the Python package saltform is not here: state.apply terraform installs it (README, Install)",
        )
    return __virtualname__


def _do(command, *arguments):
    from saltform.bridge.minion import minion_call
    from saltform.verbs import component_commands

    dunders = {name: globals()[name] for name in ("__opts__", "__salt__", "__context__")}
    return minion_call(dunders, getattr(component_commands, command), *arguments)


def version(name=None):
    """
    The terraform or tofu that runs here, and the providers that a component has chosen.

    name
        The component; without one, the binary that ``auto`` finds.

    CLI Example:

    .. code-block:: bash

        salt-call terraform.version
        salt-call terraform.version staging/networking
    """
    return _do("version", name)


def init(name):
    """
    Render the component's workspace and initialise it. Done by itself whenever it is needed.

    name
        The component, as ``environment/component``.

    CLI Example:

    .. code-block:: bash

        salt-call terraform.init staging/networking
    """
    return _do("init", name)


def validate(name):
    """
    Whether the component's configuration is valid, and what is wrong with it.

    name
        The component, as ``environment/component``.

    CLI Example:

    .. code-block:: bash

        salt-call terraform.validate staging/networking
    """
    return _do("validate", name)


def fmt_check(name):
    """
    The files of the component's module that ``terraform fmt`` would rewrite; an empty list is good.

    name
        The component, as ``environment/component``.

    CLI Example:

    .. code-block:: bash

        salt-call terraform.fmt_check staging/networking
    """
    return _do("fmt_check", name)


def plan(name, refresh=None, replace=None):
    """
    What an apply would do. ``retcode`` in the return is 0 when that is nothing, and 2 when there are changes.

    name
        The component, as ``environment/component``.

    refresh
        Ask reality too when nothing has changed since the last apply.

    replace
        Address of a resource to plan a replacement for.

    CLI Example:

    .. code-block:: bash

        salt-call terraform.plan staging/networking
    """
    return _do("plan", name, {"refresh": refresh, "replace": replace})


def show(name):
    """
    The resources in the component's state with their values, sensitive ones hidden.

    name
        The component, as ``environment/component``.

    CLI Example:

    .. code-block:: bash

        salt-call terraform.show staging/networking
    """
    return _do("show", name)


def apply(name, refresh=None, replace=None, preserve_data=None):
    """
    Plan the component and apply that plan. Only this one: what it needs must be there.

    name
        The component, as ``environment/component``.

    refresh
        Ask reality too when nothing has changed since the last apply.

    replace
        Address of a resource to create anew.

    preserve_data
        ``False`` allows a component marked ``stateful`` to delete or replace what it holds.

    CLI Example:

    .. code-block:: bash

        salt-call terraform.apply staging/networking
    """
    return _do("apply", name, {"refresh": refresh, "replace": replace, "preserve_data": preserve_data})


def destroy(name, yes=None, preserve_data=None):
    """
    Destroy what the component holds. Without ``yes=True`` it only shows what. Refused while another component that
    needs this one still has something.

    name
        The component, as ``environment/component``; one that left the pillar too.

    yes
        Really do it.

    preserve_data
        ``False`` destroys a component marked ``stateful`` too.

    CLI Example:

    .. code-block:: bash

        salt-call terraform.destroy staging/networking yes=True
    """
    return _do("destroy", name, {"yes": yes, "preserve_data": preserve_data})


def output(name, output=None):
    """
    The component's outputs, or one of them, read from its state.

    name
        The component, as ``environment/component``.

    output
        The output's name; all when left out.

    CLI Example:

    .. code-block:: bash

        salt-call terraform.output staging/networking vpc_id
    """
    return _do("output", name, output)


def state_list(name):
    """
    The addresses in the component's state.

    name
        The component, as ``environment/component``.

    CLI Example:

    .. code-block:: bash

        salt-call terraform.state_list staging/networking
    """
    return _do("state_list", name)


def state_show(name, address):
    """
    One resource as terraform shows it to people, sensitive attributes hidden.

    name
        The component, as ``environment/component``.

    address
        The resource.

    CLI Example:

    .. code-block:: bash

        salt-call terraform.state_show staging/networking aws_vpc.this
    """
    return _do("state_show", name, address)


def state_rm(name, address):
    """
    Forget a resource without destroying it.

    name
        The component, as ``environment/component``.

    address
        The resource.

    CLI Example:

    .. code-block:: bash

        salt-call terraform.state_rm staging/networking aws_vpc.this
    """
    return _do("state_rm", name, address)


def state_mv(name, source, destination):
    """
    Give a resource another address without touching it.

    name
        The component, as ``environment/component``.

    source
        The address it has.

    destination
        The address it gets.

    CLI Example:

    .. code-block:: bash

        salt-call terraform.state_mv staging/networking aws_vpc.old aws_vpc.this
    """
    return _do("state_mv", name, source, destination)


def import_resource(name, address, id):
    """
    Take something that exists into the state, under an address that the module has.

    name
        The component, as ``environment/component``.

    address
        The address it gets.

    id
        What the provider calls it.

    CLI Example:

    .. code-block:: bash

        salt-call terraform.import_resource staging/networking aws_vpc.this vpc-0a1b2c3d
    """
    return _do("import_resource", name, address, str(id))


def taint(name, address):
    """
    Have a resource created anew by the next apply.

    name
        The component, as ``environment/component``.

    address
        The resource.

    CLI Example:

    .. code-block:: bash

        salt-call terraform.taint staging/consul 'aws_instance.node[0]'
    """
    return _do("taint", name, address)


def untaint(name, address):
    """
    Take a taint back.

    name
        The component, as ``environment/component``.

    address
        The resource.

    CLI Example:

    .. code-block:: bash

        salt-call terraform.untaint staging/consul 'aws_instance.node[0]'
    """
    return _do("untaint", name, address)


def force_unlock(name, lock_id):
    """
    Release Terraform's own lock of a state whose holder is dead. While a run of ours works on the component, this
    is refused.

    name
        The component, as ``environment/component``.

    lock_id
        The lock's id, from Terraform's message.

    CLI Example:

    .. code-block:: bash

        salt-call terraform.force_unlock staging/networking 9db590f1-b6fe-c5f2-2678-8804f089deba
    """
    return _do("force_unlock", name, str(lock_id))


def workspace_path(name):
    """
    The folder that is rendered for the component. It can be removed at any time.

    name
        The component, as ``environment/component``.

    CLI Example:

    .. code-block:: bash

        salt-call terraform.workspace_path staging/networking
    """
    return _do("workspace_path", name)


def providers(name):
    """
    Which providers the component asks for, and the versions that it accepts.

    name
        The component, as ``environment/component``.

    CLI Example:

    .. code-block:: bash

        salt-call terraform.providers staging/networking
    """
    return _do("providers", name)
