"""Providers from the embedded mirror and from a packed one, by a real init."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from saltform.config.types import Settings
from saltform.errors import TerraformError
from saltform.terraform import init, mirror, version

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


def test_parallel_inits_share_a_plugin_cache_from_a_packed_mirror(make_session, binary, tmp_path):
    archive = mirror._packaged_archive()
    folder = tmp_path / "packed/registry.terraform.io/hashicorp/aws"
    folder.mkdir(parents=True)
    shutil.copy(archive, folder / archive.name)
    cli = mirror.prepare(Settings(state_dir=tmp_path, mirror=str(tmp_path / "packed")), tmp_path / "cache")
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
