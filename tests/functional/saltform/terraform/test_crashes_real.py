"""Programs that are not what they should be: each one clear message, never taken for success."""

from __future__ import annotations

import pytest

from saltform.errors import BinaryError, SaltformError, TerraformError
from saltform.process import RealProcesses
from saltform.terraform import apply, binary, init, planning, show, validate
from saltform.terraform.binary import Binary


@pytest.fixture
def broken(make_session, tmp_path):
    """A session whose terraform is this shell script."""

    def make(script):
        program = tmp_path / "terraform"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return make_session(Binary((str(program),), "terraform", "1.11.4"), {})

    return make


COMMANDS = {
    "init": init.run,
    "plan": lambda session: planning.run(session, session.workspace / "plan"),
    "apply": lambda session: apply.run(session, session.workspace / "plan"),
    "show": show.run,
    "validate": validate.run,
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_segmentation_fault_is_named(broken, command):
    with pytest.raises(TerraformError, match="was ended by SIGSEGV"):
        COMMANDS[command](broken("kill -SEGV $$"))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_strange_exit_code_is_shown_with_what_was_said(broken, command):
    with pytest.raises(TerraformError, match=r"exit code 99\): out of cheese"):
        COMMANDS[command](broken("echo out of cheese >&2; exit 99"))


@pytest.mark.parametrize(
    "garbage", ["head -c 20000 /dev/urandom", "echo 5", "echo '[]'", "echo '{'", "echo null", ":"]
)
@pytest.mark.parametrize("command", ["plan", "show", "validate"])
def test_garbage_with_a_good_exit_code_is_not_believed(broken, command, garbage):
    with pytest.raises(TerraformError):
        COMMANDS[command](broken(f"{garbage}; exit 0"))


def test_a_go_panic_is_not_taken_for_changes_found(broken):
    with pytest.raises(TerraformError, match="invalid memory address"):
        COMMANDS["plan"](broken("echo 'panic: invalid memory address' >&2; exit 2"))


def test_only_the_end_of_a_long_story_is_told(broken):
    with pytest.raises(TerraformError) as caught:
        COMMANDS["plan"](broken("seq 1 100000; exit 1"))
    assert caught.value.detail.splitlines()[-1] == "100000"
    assert len(caught.value.detail.splitlines()) == 40


def test_a_line_of_megabytes_is_read(broken):
    script = """
        printf '{"@message":"'; head -c 3000000 /dev/zero | tr '\\0' x; printf '","type":"log"}\\n'
        echo '{"@message":"Plan","type":"change_summary","changes":{"add":1,"change":0,"remove":0}}'
        touch plan; exit 2
    """
    assert COMMANDS["plan"](broken(script)).counts["add"] == 1


def test_a_binary_that_vanished_is_said(broken):
    session = broken("true")
    (session.workspace.parent / "terraform").unlink()
    with pytest.raises(BinaryError, match="can't be started"):
        init.run(session)


@pytest.mark.parametrize("script", ["kill -SEGV $$", "exit 1", "echo hello", "sleep 0.1; exit 0"])
def test_a_program_that_is_not_terraform_is_refused_when_it_is_looked_for(tmp_path, script):
    program = tmp_path / "tf"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    with pytest.raises(BinaryError, match="doesn't answer like terraform"):
        binary.find(str(program), cache_dir=tmp_path / "cache", processes=RealProcesses())


def test_a_file_of_the_wrong_format_is_refused(tmp_path):
    program = tmp_path / "tf"
    program.write_bytes(b"\x7fELF nonsense")
    program.chmod(0o755)
    with pytest.raises(SaltformError, match="can't be started"):
        binary.find(str(program), cache_dir=tmp_path / "cache", processes=RealProcesses())
