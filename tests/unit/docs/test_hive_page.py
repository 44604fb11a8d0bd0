"""The generated parts of docs/hive.md are what the code says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"


def script():
    spec = importlib.util.spec_from_file_location("hive_tables", DOCS / "hive_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_are_up_to_date():
    text = (DOCS / "hive.md").read_text(encoding="utf-8")
    assert script().renewed(text) == text, "run: python docs/hive_tables.py"


def test_the_tables_name_what_is_there():
    tables = script()
    assert "`CreateVpc`" in tables.actions() and "`GetCallerIdentity`" in tables.actions()
    assert "| `DescribeVpcs` | `cidr`, `cidr-block`" in tables.filters()
    assert "| vpc | a subnet in it | `DependencyViolation` |" in tables.holds()
    assert "| `rules-per-security-group` |" in tables.quotas() and "| 60 |" in tables.quotas()
