"""Every setting that pillar may give a backend is one that Terraform knows: said by Terraform itself."""

from __future__ import annotations

import json
import re

import pytest

from saltform.config.backends import KINDS, block, located
from saltform.config.types import Backend
from tests.support.plain_terraform import PlainTerraform

OURS = {"s3": {"endpoint"}}  # written as other settings


@pytest.mark.parametrize("kind", [name for name in KINDS if name != "local"])
def test_terraform_knows_every_setting_and_no_other(kind, tmp_path):
    named = KINDS[kind]
    settings = {*named.takes, *named.named, *(named.lent or ()), "no_such_setting"} - OURS.get(kind, set())
    tree = {"terraform": {"backend": {kind: dict.fromkeys(sorted(settings))}}}
    folder, mirror = tmp_path / "root", tmp_path / "mirror"
    for each in (folder, mirror):
        each.mkdir()
    (folder / "main.tf.json").write_text(json.dumps(tree, indent=1))
    with pytest.raises(AssertionError) as refused:
        PlainTerraform(folder, tmp_path / "cache", str(mirror)).init()
    assert re.findall(r'is named\s+"(\w+)"', str(refused.value)) == ["no_such_setting"]


@pytest.mark.parametrize("kind", [name for name in KINDS if name != "local"])
def test_what_is_rendered_has_only_such_settings(kind):
    needed = dict.fromkeys(KINDS[kind].needs, "https://x/{environment}/{component}")
    made = block(located(Backend(kind, needed), "staging", "web-1"), "1.11.4")
    assert made.keys() <= {*KINDS[kind].takes, *KINDS[kind].named}
    assert any("staging" in str(value) and "web-1" in str(value) for value in made.values())
