"""The argument list of each command, twice: as it is by default, and with everything overridden."""

from __future__ import annotations

from pathlib import Path

import pytest

from saltform.errors import SaltformError
from saltform.terraform import (
    apply,
    fmt,
    force_unlock,
    import_,
    init,
    planning,
    providers,
    schema,
    show,
    state,
    taint,
    validate,
    version,
)
from saltform.terraform.command import FLAG, arguments, flag, unless_default


def test_init_by_default():
    assert init.argv() == ["init", "-input=false", "-no-color"]


def test_init_with_everything():
    assert init.argv(upgrade=True, fetch=False) == ["init", "-input=false", "-no-color", "-upgrade", "-get=false"]


def test_plan_by_default():
    assert planning.argv(Path("/p")) == ["plan", "-json", "-input=false", "-detailed-exitcode", "-out=/p"]


def test_plan_with_everything():
    words = planning.argv(
        None,
        refresh=False,
        refresh_only=True,
        destroy=True,
        replace=["a.b", 'c.d["e"]'],
        lock=False,
    )
    assert words == [
        "plan",
        "-json",
        "-input=false",
        "-detailed-exitcode",
        "-refresh=false",
        "-refresh-only",
        "-destroy",
        "-replace=a.b",
        '-replace=c.d["e"]',
        "-lock=false",
    ]


def test_apply():
    assert apply.argv(Path("/p")) == ["apply", "-json", "-input=false", "/p"]


def test_options_are_spelt_as_terraform_wants_them():
    words = arguments("state list", "a", one_two=True, off=False, many=["x", "y"], left_out=None, bare=FLAG)
    assert words == ["state", "list", "-one-two=true", "-off=false", "-many=x", "-many=y", "-bare", "a"]


def test_a_positional_argument_can_not_become_an_option():
    with pytest.raises(SaltformError, match="-destroy"):
        arguments("import", "-destroy")


def test_values_of_variables_never_reach_a_command_line():
    with pytest.raises(TypeError, match="workspace"):
        arguments("plan", var={"secret": "x"})


def test_no_state_file_of_the_current_folder_is_read(tmp_path, monkeypatch):
    (tmp_path / "terraform.tfstate").write_text("not a state")
    monkeypatch.chdir(tmp_path)
    assert arguments("version") == ["version"]


def test_flags_and_defaults():
    assert (flag(True), flag(False)) == (FLAG, None)
    assert (unless_default(True, True), unless_default(False, True)) == (None, False)


PLAIN = [
    (show.argv(), ["show", "-json"]),
    (validate.argv(), ["validate", "-json"]),
    (fmt.argv(Path("/m")), ["fmt", "-check", "-no-color", "-recursive", "/m"]),
    (state.show_argv("a.b"), ["state", "show", "-no-color", "a.b"]),
    (state.rm_argv("a.b"), ["state", "rm", "a.b"]),
    (state.mv_argv("a.b", "c.d"), ["state", "mv", "a.b", "c.d"]),
    (state.push_argv(Path("x.tfstate")), ["state", "push", "x.tfstate"]),
    (import_.argv("a.b", "id-1"), ["import", "-input=false", "-no-color", "a.b", "id-1"]),
    (taint.argv("a.b"), ["taint", "a.b"]),
    (taint.argv("a.b", undo=True), ["untaint", "a.b"]),
    (force_unlock.argv("1234"), ["force-unlock", "-force", "1234"]),
    (providers.argv(), ["providers"]),
    (schema.argv(), ["providers", "schema", "-json"]),
    (version.argv(), ["version", "-json"]),
]
OVERRIDDEN = [
    (show.argv(Path("/p")), ["show", "-json", "/p"]),
    (state.push_argv(Path("x.tfstate"), force=True), ["state", "push", "-force", "x.tfstate"]),
    (import_.argv('a.b["x y"]', "id"), ["import", "-input=false", "-no-color", 'a.b["x y"]', "id"]),
]


@pytest.mark.parametrize(("built", "wanted"), PLAIN)
def test_the_other_commands_by_default(built, wanted):
    assert built == wanted


@pytest.mark.parametrize(("built", "wanted"), OVERRIDDEN)
def test_the_other_commands_with_everything(built, wanted):
    assert built == wanted
