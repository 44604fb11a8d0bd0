"""Providers from the embedded mirror and from a packed one, by a real init."""

from __future__ import annotations

import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from saltform.config.types import Settings
from saltform.errors import TerraformError
from saltform.terraform import init, mirror, version

COOKIE = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2"  # what terraform says to its providers
SOURCE = "registry.terraform.io/hashicorp/aws"


def root(constraint=">= 3.0", source=SOURCE):
    return {"terraform": {"required_providers": {"aws": {"source": source, "version": constraint}}}}


def installed(session) -> Path:
    return next((session.workspace / ".terraform/providers").glob(f"*/*/*/*/{mirror.PLATFORM}"))


def test_the_embedded_provider_is_linked_and_not_copied(make_session, binary):
    session = make_session(binary, root())
    init.run(session)
    assert version.run(session)["providers"] == {SOURCE: "3.39.0"}
    assert installed(session).is_symlink()
    assert SOURCE in (session.workspace / ".terraform.lock.hcl").read_text()


def test_the_name_that_tofu_gives_it_is_there_too(make_session, binary):
    session = make_session(binary, root(source="registry.opentofu.org/hashicorp/aws"))
    init.run(session)


def test_a_provider_that_the_mirror_lacks_says_what_to_do(make_session, binary):
    session = make_session(binary, root(source="registry.terraform.io/hashicorp/google"))
    with pytest.raises(TerraformError, match="hashicorp/google") as caught:
        init.run(session)
    assert "mirror: registry" in caught.value.fix


def test_a_version_that_the_mirror_lacks_says_what_to_do(make_session, binary):
    with pytest.raises(TerraformError, match="4.0") as caught:
        init.run(make_session(binary, root(">= 4.0")))
    assert "mirror: registry" in caught.value.fix


@pytest.fixture
def packed(tmp_path):
    """A mirror of the archive as it is, which `init` unpacks into the plugin cache."""
    archive = mirror._packaged_archive()
    folder = tmp_path / "packed/registry.terraform.io/hashicorp/aws"
    folder.mkdir(parents=True)
    shutil.copy(archive, folder / archive.name)
    return mirror.prepare(Settings(state_dir=tmp_path, mirror=str(tmp_path / "packed")), tmp_path / "cache")


@pytest.fixture
def in_use(packed, make_session, binary, tmp_path):
    """The provider in the cache, at work for another component."""
    init.run(make_session(binary, root(), "other", cli=packed.path), plugin_cache=packed.plugin_cache)
    (program,) = (packed.plugin_cache / SOURCE / "3.39.0/linux_amd64").iterdir()
    ours = {"PLUGIN_PROTOCOL_VERSIONS": "5", "TF_PLUGIN_MAGIC_COOKIE": COOKIE}
    with subprocess.Popen([program], env=ours, stdout=subprocess.PIPE) as running:
        running.stdout.readline()  # it is up
        yield (tmp_path / "other/.terraform.lock.hcl").read_text()
        running.terminate()


def test_a_first_init_takes_what_is_in_the_cache_while_another_component_works_with_it(
    make_session, binary, packed, in_use
):
    session = make_session(binary, root(), cli=packed.path)
    init.run(session, plugin_cache=packed.plugin_cache)
    assert (session.workspace / ".terraform.lock.hcl").read_text() == in_use


def test_so_does_one_whose_lock_file_lacks_the_provider(make_session, binary, packed, in_use):
    session = make_session(binary, root(), cli=packed.path)
    (session.workspace / ".terraform.lock.hcl").write_text("")
    init.run(session, plugin_cache=packed.plugin_cache)
    assert "h1:" in (session.workspace / ".terraform.lock.hcl").read_text()


def test_a_cached_package_that_is_not_the_locked_one_is_replaced_from_its_source(make_session, binary, packed):
    """With the setting for every init, what lay in the cache won, and the init failed."""
    first = make_session(binary, root(), "first", cli=packed.path)
    init.run(first, plugin_cache=packed.plugin_cache)
    (program,) = (packed.plugin_cache / SOURCE / "3.39.0/linux_amd64").iterdir()
    program.write_bytes(b"another program")
    second = make_session(binary, root(), "second", cli=packed.path)
    shutil.copy(first.workspace / ".terraform.lock.hcl", second.workspace)
    init.run(second, plugin_cache=packed.plugin_cache)
    assert program.stat().st_size > 1_000_000


def test_parallel_inits_share_a_plugin_cache_from_a_packed_mirror(make_session, binary, packed):
    cli = packed
    sessions = [make_session(binary, root(), f"w{number}", cli=cli.path) for number in range(4)]
    errors: list[Exception] = []

    def work(session):
        try:
            init.run(session, plugin_cache=cli.plugin_cache)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert {installed(session).resolve() for session in sessions} == {
        (cli.plugin_cache / SOURCE / "3.39.0/linux_amd64").resolve()
    }
