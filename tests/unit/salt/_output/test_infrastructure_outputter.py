from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

PATH = Path(__file__).parents[4] / "salt/_output/infrastructure.py"
RETURN = {
    "verb": "deploy",
    "environment": "staging",
    "retcode": 0,
    "success": True,
    "summary": "deploy staging: 1 applied in 1.0 s",
    "steps": {"networking": {"status": "applied", "add": 4, "seconds": 1.0}},
}


@pytest.fixture
def outputter(monkeypatch):
    """The module as Salt's loader would have it, with its dunders; Salt's own outputters are played here."""

    def get_printout(name, opts):
        assert "output" not in opts, "Salt would call us again, and again"
        return lambda ret, **kwargs: f"{name}: {ret}"

    monkeypatch.setitem(sys.modules, "salt.output", SimpleNamespace(get_printout=get_printout))
    spec = importlib.util.spec_from_file_location("infrastructure_outputter", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.__opts__ = {"color": False}
    return module


def test_it_loads_where_the_engine_is_installed(outputter):
    assert outputter.__virtual__() == "infrastructure"


def test_without_the_engine_it_says_what_to_install(outputter, monkeypatch):
    monkeypatch.setitem(sys.modules, "saltform.report", None)
    loaded, why = outputter.__virtual__()
    assert loaded is False
    assert "salt-pip install . in a checkout" in why


def test_a_runners_return_is_shown_as_text(outputter):
    shown = outputter.output(RETURN)
    assert "networking" in shown
    assert shown.endswith("deploy staging: 1 applied in 1.0 s")
    assert "\x1b" not in shown


def test_colour_follows_salts_own_option(outputter):
    outputter.__opts__ = {"color": True}
    assert "\x1b[" in outputter.output(RETURN)


def test_salt_call_s_wrapper_is_taken_off(outputter):
    assert outputter.output({"local": RETURN}) == outputter.output(RETURN)


def test_each_minion_gets_its_heading(outputter):
    shown = outputter.output({"m1": RETURN, "m2": RETURN})
    assert shown.startswith("m1:\ndeploy staging")
    assert "\n\nm2:\ndeploy staging" in shown


def test_a_return_from_the_job_cache_is_found(outputter):
    job = {"master_master": {"fun": "runner.infrastructure.deploy", "return": RETURN, "success": True}}
    assert "deploy staging: 1 applied" in outputter.output(job)


@pytest.mark.parametrize(
    "strange",
    [
        None, "Passed invalid arguments", 7, [], {}, {"verb": "deploy"}, {"verb": "deploy", "steps": {}},
        {"verb": "deploy", "summary": "x", "steps": {"a": {"status": "no such status"}}},
        {"verb": "status", "summary": "x", "components": 7},
        {"a": 1, "b": RETURN},
    ],
)  # fmt: skip
def test_an_unknown_shape_is_shown_somehow_and_never_raises(outputter, strange):
    assert outputter.output(strange) == f"nested: {strange}"


def test_where_salts_outputters_fail_too_the_value_is_still_shown(outputter, monkeypatch):
    monkeypatch.setitem(sys.modules, "salt.output", None)
    assert outputter.output({"a": 1}) == "{'a': 1}"


def test_asking_for_this_outputter_by_name_does_not_go_round_in_circles(outputter):
    outputter.__opts__ = {"color": False, "output": "infrastructure"}
    assert "shown anyway" in outputter.output({"strange": "shown anyway"})


def test_the_real_nested_outputter_takes_over_for_a_strange_shape():
    code = f"""
import importlib.util, salt.config
spec = importlib.util.spec_from_file_location("o", {str(PATH)!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.__opts__ = dict(salt.config.DEFAULT_MASTER_OPTS, color=False, output="infrastructure")
print(module.output({{"strange": [1]}}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["strange:", "-", "1"]


def test_what_goes_to_a_pipe_is_not_wrapped(outputter):
    long = {**RETURN, "notes": ["word " * 100]}
    assert ("word " * 100).strip() in outputter.output(long)
