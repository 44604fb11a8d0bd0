"""Terraform code as data, and the README tables that are made from it.

python -m tests.support.terraform_files      writes the tables of all modules anew
"""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Any

import hcl2
from hcl2.utils import SerializationOptions

ROOT = Path(__file__).parents[2]
MODULES = ROOT / "terraform" / "modules"
ENVIRONMENTS = ROOT / "terraform" / "environments"
MODULE_NAMES = sorted(path.name for path in MODULES.iterdir() if path.is_dir())
PLAIN = SerializationOptions(with_comments=False, explicit_blocks=False, strip_string_quotes=True)
QUOTED = SerializationOptions(with_comments=False, explicit_blocks=False)
START, END = "<!-- made from the code: python -m tests.support.terraform_files -->", "<!-- end -->"


def blocks(folder: Path, kind: str, quoted: bool = False) -> dict[str, dict[str, Any]]:
    """All blocks of one kind with one label in a folder: label → attributes. `quoted` keeps strings' quotes."""
    found = {}
    for path in sorted(folder.glob("*.tf")):
        for block in _parsed(path, quoted).get(kind, []):
            found.update({label.strip('"'): body for label, body in block.items()})
    return found


@cache  # the parser is slow, and every test asks for the same few files
def _parsed(path: Path, quoted: bool) -> dict[str, Any]:
    return hcl2.load(io.StringIO(path.read_text()), serialization_options=QUOTED if quoted else PLAIN)


def tables(folder: Path) -> str:
    """What stands between the markers of a module's README."""
    lines = [START, "| variable | type | default | what it is |", "|---|---|---|---|"]
    for name, body in blocks(folder, "variable", quoted=True).items():
        default = f"`{_written(body['default'])}`" if "default" in body else "required"
        cells = [f"`{name}`", f"`{_written(body['type'])}`", default, body["description"].strip('"')]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "| output | what it is |", "|---|---|"]
    for name, body in blocks(folder, "output").items():
        lines.append(f"| `{name}` | {body['description']} |")
    return "\n".join([*lines, END])


def _written(value: Any) -> str:
    """A parsed value as one would write it in HCL."""
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_written(item)}" for key, item in value.items()) + "}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = str(value)
    return text[2:-1] if text.startswith("${") else text


def write_tables() -> None:
    for name in MODULE_NAMES:
        readme = MODULES / name / "README.md"
        before, _, rest = readme.read_text().partition(START)
        readme.write_text(before + tables(MODULES / name) + rest.partition(END)[2])


if __name__ == "__main__":
    write_tables()
