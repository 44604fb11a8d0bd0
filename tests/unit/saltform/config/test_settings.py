"""The `saltform:` block of Salt's configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from saltform.config import load_settings
from saltform.errors import ConfigError


def test_defaults_need_no_block_at_all():
    settings = load_settings({})
    assert settings.state_dir == Path("/var/lib/saltform")
    assert settings.mirror == "auto"


def test_what_is_said_is_taken():
    assert load_settings({}).pillarenv == "base"
    assert load_settings({"saltform": {"pillarenv": "prod"}}).pillarenv == "prod"
    given = {"saltform": {"state_dir": "/a", "modules": ["/b", "/c"], "mirror": "registry", "pillar_id": "x"}}
    settings = load_settings(given)
    assert settings.modules == (Path("/b"), Path("/c"))
    assert (settings.state_dir, settings.mirror, settings.pillar_id) == (Path("/a"), "registry", "x")


def test_where_promoted_releases_are_committed():
    assert load_settings({}).releases is None
    found = load_settings({"saltform": {"releases": {"repository": "/srv/pillar"}}}).releases
    assert (found.repository, found.branch, found.file) == (
        Path("/srv/pillar"),
        "main",
        "infrastructure/releases.sls",
    )


@pytest.mark.parametrize(
    "releases", [{"repository": "pillar"}, {}, {"repository": "/a", "file": "../b"}, {"repo": "/a"}, "/a"]
)
def test_a_wrong_place_for_them_is_refused(releases):
    with pytest.raises(ConfigError):
        load_settings({"saltform": {"releases": releases}})


@pytest.mark.parametrize("block", [{"state_dir": "relative"}, {"statedir": "/x"}, {"modules": 3}, "text"])
def test_a_wrong_block_is_refused(block):
    with pytest.raises(ConfigError):
        load_settings({"saltform": block})


def test_a_wrong_setting_is_said_to_be_in_salts_configuration_and_not_in_pillar():
    with pytest.raises(ConfigError) as caught:
        load_settings({"saltform": {"mirorr": "auto"}})
    assert caught.value.summary == "1 problem in Salt's configuration, nothing was started"
    assert "did you mean 'mirror'" in caught.value.detail


def test_keys_are_accepted_by_token_or_by_a_person():
    assert load_settings({}).keys == "tokens"
    assert load_settings({"saltform": {"keys": "manual"}}).keys == "manual"
    with pytest.raises(ConfigError, match="one of: tokens, manual"):
        load_settings({"saltform": {"keys": "auto"}})
