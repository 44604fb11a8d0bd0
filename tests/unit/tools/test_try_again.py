"""tools/try_again.py runs a few failed tests once more, and what fails twice has failed."""

from __future__ import annotations

import pytest

from tests.support import tools

LOG = """
tests/unit/test_a.py::test_x PASSED
FAILED tests/unit/test_a.py::test_x[a b] - assert 1 == 2
FAILED tests/unit/test_a.py::test_x[c] - assert 1 == 2
ERROR tests/unit/test_b.py - ImportError
1 failed in 0.1s
"""


@pytest.fixture
def tool():
    return tools.load("try_again")


def test_each_failed_function_is_found_once(tool):
    assert tool.failed(LOG) == ["tests/unit/test_a.py::test_x", "tests/unit/test_b.py"]


@pytest.mark.parametrize(("body", "code"), [("assert True", 0), ("assert False", 1)])
def test_a_test_that_fails_twice_has_failed(tool, tmp_path, monkeypatch, body, code):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text(f"def test_x():\n    {body}\n")
    (tmp_path / "log").write_text("FAILED tests/test_a.py::test_x - assert False\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    assert tool.main(tmp_path / "log") == code


@pytest.mark.parametrize("log", ["", "".join(f"FAILED tests/test_a.py::test_{number}\n" for number in range(6))])
def test_many_failures_or_none_are_not_tried_again(tool, tmp_path, log):
    (tmp_path / "log").write_text(log)
    assert tool.main(tmp_path / "log") == 1
