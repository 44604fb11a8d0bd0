"""README's table of verbs is the runner's, and its links lead somewhere."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text()


def test_every_verb_of_the_runner_is_in_the_table_and_no_other():
    tree = ast.parse((ROOT / "salt" / "_runners" / "infrastructure.py").read_text())
    verbs = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}
    table = README.split("## The verbs")[1].split("\n\n")[1]
    assert set(re.findall(r"`(\w+)`", table)) == verbs


def test_every_page_of_the_docs_is_linked_and_every_link_leads_somewhere():
    links = set(re.findall(r"\]\(([\w/.-]+)\)", README))
    assert not [link for link in links if not (ROOT / link).exists()]
    pages = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}
    assert pages <= links
