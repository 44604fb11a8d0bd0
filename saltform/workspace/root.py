"""The generated root module of a component, as Terraform's JSON. Data in, data out: nothing is pasted into HCL.

Values keep their YAML types. Strings are escaped so that `${…}` and `%{…}` reach the module as they are written.
A sensitive value is never in the file: it goes in as a variable of the one process that needs it. A value that
isn't known yet is the id of a resource that isn't there yet, which Terraform plans as unknown whatever its type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from saltform.config.kinds import KINDS
from saltform.config.types import Component
from saltform.layout import STATE_FILE
from saltform.workspace.modules import Module

CALL = "main"  # the module call's name: constant, so that a rename of the component moves no address
PREFIX = f"module.{CALL}."
PENDING = "pending_"
MINIONS = "minions"  # the variable with their ids, and the output: id → instance
MINION_TOKENS = "minion_tokens"
STATE_LINK = "state"
_NOT_IN_HCL = {"\\b": "\\u0008", "\\f": "\\u000c"}


@dataclass(frozen=True)
class Value:
    """An input's value, from the output of another component."""

    value: Any
    sensitive: bool = False

    def __repr__(self) -> str:
        return "Value(sensitive)" if self.sensitive else f"Value({self.value!r})"


@dataclass(frozen=True)
class Unknown:
    """An input whose upstream has not been applied yet."""

    component: str


Inputs = Mapping[str, "Value | Unknown"]


def build(
    component: Component,
    module: Module,
    inputs: Inputs,
    tags: Mapping[str, str],
    leased: frozenset[str] = frozenset(),
    backend: Mapping[str, Any] | None = None,
    registry: str = "registry.terraform.io",
) -> dict[str, Any]:
    """The root as a tree that is written as `main.tf.json`. `backend` is the block of one that isn't local.

    `registry` is what a provider's source without a host means to the binary.
    """
    call: dict[str, Any] = {"source": _source(module)}
    call |= {name: literal(value) for name, value in component.variables.items()}
    variables: dict[str, Any] = {}
    pending: dict[str, Any] = {}
    for name, item in inputs.items():
        if isinstance(item, Unknown):
            pending[PENDING + name] = {}
            call[name] = f"${{jsondecode(terraform_data.{PENDING}{name}.id)}}"
        elif item.sensitive:
            variables[input_variable(name)] = {"type": "any", "sensitive": True}
            call[name] = f"${{var.{input_variable(name)}}}"
        else:
            call[name] = literal(item.value)
    for name in component.secret_variables:
        variables[name] = {"type": "string", "sensitive": True}
        if name in leased:
            variables[name]["ephemeral"] = True
        call[name] = f"${{var.{name}}}"
    if component.minions and MINION_TOKENS in module.interface.variables:
        call[MINIONS] = list(component.minions)
        variables[MINION_TOKENS] = {"type": "map(string)", "sensitive": True}
        call[MINION_TOKENS] = f"${{var.{MINION_TOKENS}}}"
    root = {
        "terraform": _terraform(component, module, backend, registry),
        "provider": _provider(component, tags),
        "variable": variables,
        "resource": {"terraform_data": pending} if pending else {},
        "module": {CALL: call},
        "output": _outputs(module),
        "import": [{"to": address_in_root(to), "id": literal(id_)} for to, id_ in component.adopt.items()],
    }
    return {name: value for name, value in root.items() if value}


def encode(root: Mapping[str, Any]) -> bytes:
    """The same bytes for the same tree, on every machine and in every run."""
    return json.dumps(root, indent=2, sort_keys=True, ensure_ascii=False).encode() + b"\n"


def literal(value: Any) -> Any:
    """Plain data that Terraform takes literally, also where it looks like a template."""
    if isinstance(value, str):
        return value.replace("${", "$${").replace("%{", "%%{")
    if isinstance(value, Mapping):
        return {literal(name): literal(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [literal(item) for item in value]
    return value


def input_variable(name: str) -> str:
    """The root variable that carries a sensitive input; its own name, so that it never meets a secret variable's."""
    return f"input_{name}"


def sensitive_environment(inputs: Inputs) -> dict[str, str]:
    """The process environment that carries the sensitive inputs."""
    return {
        f"TF_VAR_{input_variable(name)}": as_expression(item.value)
        for name, item in inputs.items()
        if isinstance(item, Value) and item.sensitive
    }


def as_expression(value: Any) -> str:
    """Plain data as an HCL expression, which JSON is but for two escapes: HCL has neither `\\b` nor `\\f`."""
    text = json.dumps(literal(value), ensure_ascii=False)
    return re.sub(r"\\.", lambda pair: _NOT_IN_HCL.get(pair[0], pair[0]), text)


def token_environment(tokens: Mapping[str, str]) -> dict[str, str]:
    """The process environment that carries the tokens of the minions."""
    return {f"TF_VAR_{MINION_TOKENS}": json.dumps(dict(tokens))} if tokens else {}


def address_in_root(address: str) -> str:
    """A resource address as the module's author writes it → as it stands in the state."""
    return address if address == PREFIX[:-1] or address.startswith(PREFIX) else PREFIX + address


def address_in_module(address: str) -> str:
    """The other way round, for people."""
    return address.removeprefix(PREFIX)


def _source(module: Module) -> str:
    return "./module" if module.entry in ("", ".") else f"./module/{module.entry}"


def _terraform(
    component: Component, module: Module, backend: Mapping[str, Any] | None, registry: str
) -> dict[str, Any]:
    tree: dict[str, Any] = {"backend": backend_block(component.backend.type, backend)}
    provider = component.provider
    if provider is not None:
        kind = KINDS[provider.kind]
        name = kind.local_name(provider)
        source = provider.source or module.interface.providers.get(name) or kind.source
        wanted = {"source": with_host(source, registry)}
        if provider.version:
            wanted["version"] = provider.version
        tree["required_providers"] = {name: wanted}
    return tree


def with_host(source: str, registry: str) -> str:
    """A source in full: `aws` and `hashicorp/aws` mean another provider to terraform than to tofu."""
    parts = source.split("/")
    return "/".join([*(registry, "hashicorp")[: 3 - len(parts)], *parts])


def backend_block(type_: str, block: Mapping[str, Any] | None) -> dict[str, Any]:
    """Of a local one the path is the same for every component (a link in the workspace leads to the state), so that
    one `init` serves all components of a kind."""
    return {type_: literal(block) if type_ != "local" else {"path": f"{STATE_LINK}/{STATE_FILE}"}}


def _provider(component: Component, tags: Mapping[str, str]) -> dict[str, Any]:
    provider = component.provider
    if provider is None:
        return {}
    kind = KINDS[provider.kind]
    block = kind.provider_block(provider, tags)
    return {kind.local_name(provider): literal(block)}


def _outputs(module: Module) -> dict[str, Any]:
    return {
        name: {"value": f"${{{PREFIX}{name}}}"} | ({"sensitive": True} if output.sensitive else {})
        for name, output in module.interface.outputs.items()
    }
