"""The returns in docs/returns.md: every form of report can show them, and they hold what the page says."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from saltform import errors
from saltform.report import html, markdown, text
from saltform.status import Status

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs/returns.md").read_text()
RETURNS = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]


@pytest.mark.parametrize("record", RETURNS, ids=lambda record: record["verb"])
def test_a_documented_return_is_shown_in_every_form(record):
    said = record.get("summary") or record["error"]["summary"]
    assert said in text.render(record)
    assert said in markdown.render(record).replace("\\", "")
    assert said in html.render(record)


@pytest.mark.parametrize("record", RETURNS, ids=lambda record: record["verb"])
def test_a_documented_return_has_the_keys_of_every_return(record):
    assert record["outputter"] == "infrastructure"
    assert record["success"] == (record["retcode"] in (0, 2))
    assert "data" not in record
    assert set(record) & {"summary", "error"}


def test_the_page_names_every_status_every_exit_code_and_every_error():
    for status in Status:
        assert f"`{status.value}`" in PAGE
    for name, code in vars(errors).items():
        if name.startswith("EXIT_"):
            assert f"| {code} |" in PAGE
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, errors.SaltformError) and kind is not errors.SaltformError:
            assert f"`{name}`" in PAGE


def test_the_page_names_every_verb():
    runner = ast.parse((ROOT / "salt/_runners/infrastructure.py").read_text())
    verbs = {node.name for node in runner.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}
    runs = next(line for line in PAGE.splitlines() if line.startswith("## Runs: ")).removeprefix("## Runs: ")
    assert not [verb for verb in verbs - set(runs.split(", ")) if f"`{verb}`" not in PAGE]
    assert "`unreadable`" in PAGE.split("## Questions")[1].split("```")[0]
