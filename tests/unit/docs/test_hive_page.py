"""The generated parts of docs/hive.md are what the code says."""

from __future__ import annotations

from pathlib import Path

from hive_emulator import tables

DOCS = Path(__file__).parents[3] / "docs"


def test_the_tables_are_up_to_date():
    text = (DOCS / "hive.md").read_text(encoding="utf-8")
    assert tables.renewed(text) == text, "run: python -m hive_emulator.tables docs/hive.md"


def test_the_tables_name_what_is_there():
    assert "`CreateVpc`" in tables.actions() and "`GetCallerIdentity`" in tables.actions()
    assert "| `DescribeVpcs` | `cidr`, `cidr-block`" in tables.filters()
    assert "| vpc | a subnet in it | `DependencyViolation` |" in tables.holds()
    assert "| `rules-per-security-group` |" in tables.quotas() and "| 60 |" in tables.quotas()
