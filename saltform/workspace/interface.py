"""What a module takes and gives: its variables and outputs, read from its files without starting terraform."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from saltform.errors import ModuleError


@dataclass(frozen=True)
class Variable:
    required: bool
    sensitive: bool = False
    ephemeral: bool = False
    default: str = ""  # where it is one word


@dataclass(frozen=True)
class Output:
    sensitive: bool = False


@dataclass(frozen=True)
class Interface:
    """A module's face. `local_sources` are the `./` and `../` paths of modules that it calls.

    `providers` are those that it names the source of: local name → source. `remote_sources` are the modules that
    terraform has to fetch: from git, a registry, an archive.
    """

    variables: Mapping[str, Variable]
    outputs: Mapping[str, Output]
    local_sources: tuple[str, ...] = ()
    providers: Mapping[str, str] = field(default_factory=dict)
    remote_sources: tuple[str, ...] = ()

    def dump(self) -> bytes:
        return json.dumps(asdict(self), sort_keys=True).encode()

    @classmethod
    def parse(cls, content: bytes) -> Interface:
        tree = json.loads(content)
        return cls(
            {name: Variable(**value) for name, value in tree["variables"].items()},
            {name: Output(**value) for name, value in tree["outputs"].items()},
            tuple(tree["local_sources"]),
            tree.get("providers") or {},
            tuple(tree.get("remote_sources") or ()),
        )


_WORD = re.compile(r"[\w.:/-]+")
_SOURCE = re.compile(r'(?:^|[{,])\s*"?source"?\s*[=:]\s*"([^"]+)"', re.MULTILINE)
Block = tuple[str, str, dict[str, Any]]  # type, name, its plain attributes


def read(folder: Path) -> Interface:
    """Read what a folder of `*.tf`, `*.tofu` and `*.tf.json` files declares: it needs no terraform to be known."""
    variables: dict[str, Variable] = {}
    outputs: dict[str, Output] = {}
    sources: set[str] = set()
    remote: set[str] = set()
    providers: dict[str, str] = {}
    found = False
    for path in sorted(folder.iterdir()):
        blocks = _blocks_of(path)
        if blocks is None:
            continue
        found = True
        for kind, name, values in blocks:
            sensitive = values.get("sensitive") in (True, "true")
            if kind == "variable":
                ephemeral = values.get("ephemeral") in (True, "true")
                default = _plain_default(values.get("default"))
                variables[name] = Variable("default" not in values, sensitive, ephemeral, default)
            elif kind == "output":
                outputs[name] = Output(sensitive)
            elif kind == "module" and values.get("source"):
                source = str(values["source"])
                (sources if source.startswith(("./", "../")) else remote).add(source)
            elif kind == "required_providers" and values.get("source"):
                providers[name] = values["source"]
    if not found:
        raise ModuleError(
            "not a module", f"{folder} holds no .tf file", "point `module:` at a folder of Terraform code"
        )
    return Interface(variables, outputs, tuple(sorted(sources)), providers, tuple(sorted(remote)))


def _plain_default(value: Any) -> str:
    """A default that is one word, such as an instance type; anything else is only known to terraform."""
    return value if isinstance(value, str) and _WORD.fullmatch(value) and value != "null" else ""


def left_by_an_editor(name: str) -> bool:
    """Terraform ignores these too; some are links that lead nowhere."""
    return name.startswith(".#") or name.endswith("~") or (name.startswith("#") and name.endswith("#"))


def _blocks_of(path: Path) -> list[Block] | None:
    if left_by_an_editor(path.name):
        return None
    if path.name.endswith((".tf", ".tofu")):
        return list(_hcl_blocks(path))
    if path.name.endswith((".tf.json", ".tofu.json")):
        return list(_json_blocks(path))
    return None


def _json_blocks(path: Path) -> Iterator[Block]:
    try:
        tree = json.loads(path.read_bytes())
    except ValueError as error:
        raise ModuleError("a module's file is not JSON", f"{path}: {error}", "correct the file") from None
    for kind in ("variable", "output", "module"):
        for name, body in (tree.get(kind) or {}).items():
            yield kind, name, body if isinstance(body, dict) else {}
    for block in _listed(tree.get("terraform")):
        for required in _listed(block.get("required_providers")):
            for name, body in required.items():
                yield "required_providers", name, body if isinstance(body, dict) else {}


def _listed(blocks: Any) -> list[dict[str, Any]]:
    """Terraform's JSON takes one block, or a list of them."""
    found = blocks if isinstance(blocks, list) else [blocks]
    return [block for block in found if isinstance(block, dict)]


def _hcl_blocks(path: Path) -> Iterator[Block]:
    root = _parser().parse(path.read_bytes()).root_node
    if root.has_error:
        line = _first_error(root)
        raise ModuleError(
            "a module's file is not valid HCL",
            f"{path}, line {line}",
            f"terraform fmt -check {path} shows what it expected",
        )
    for body in root.named_children:
        for block in body.named_children:
            if block.type == "block":
                yield from _block(block)


def _block(block: Any) -> Iterator[Block]:
    kind = block.children[0].text.decode()
    if kind == "terraform":
        yield from _required_providers(block)
    labels = [_plain(child) for child in block.children[1:] if child.type in ("string_lit", "identifier")]
    if kind not in ("variable", "output", "module") or not labels:
        return
    yield kind, labels[0], _attributes(block)


def _required_providers(terraform: Any) -> Iterator[Block]:
    for block in _inside(terraform):
        if block.type == "block" and block.children[0].text == b"required_providers":
            for name, text in _attributes(block).items():
                source = _SOURCE.search(text)
                yield "required_providers", name, {"source": source[1] if source else ""}


def _attributes(block: Any) -> dict[str, str]:
    return {
        item.named_children[0].text.decode(): _plain(item.named_children[1])
        for item in _inside(block)
        if item.type == "attribute"
    }


def _inside(block: Any) -> Iterator[Any]:
    for body in block.children:
        if body.type == "body":
            yield from body.named_children


def _plain(node: Any) -> str:
    """The text of a string or a bare word; for anything else its source, which is all we need to know."""
    text: str = node.text.decode()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _first_error(node: Any) -> int:
    while True:
        inner = next((child for child in node.children if child.has_error or child.is_missing), None)
        if inner is None:
            line: int = node.start_point[0] + 1
            return line
        node = inner


@lru_cache(maxsize=1)
def _parser() -> Any:
    # Only a module that was not seen before is parsed, so most runs never import this.
    import tree_sitter
    import tree_sitter_hcl

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_hcl.language()))
