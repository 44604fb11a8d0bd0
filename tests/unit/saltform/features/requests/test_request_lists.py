"""The form of a request, its digest, and the copy of the lists that keeps strangers out."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

import pytest

from saltform.errors import NotAllowed
from saltform.features.requests.form import Asked
from saltform.features.requests.lists import check_may_ask, check_on_a_list, keep_lists
from saltform.layout import Layout

MODULE = Path(__file__).parents[5] / "salt" / "_modules" / "saltform_request.py"
CI = "ci-1"


def pillar(environments):
    return {"infrastructure": {"environments": environments}}


def known(layout, **given):
    for check in (check_on_a_list, check_may_ask):
        try:
            check(layout, Asked(**{"verb": "deploy", "minion": CI, "environment": "staging", **given}))
        except NotAllowed:
            return False
    return True


def test_the_copy_follows_the_pillar(tmp_path):
    layout = Layout(tmp_path)
    assert not known(layout)
    keep_lists(layout, pillar({"staging": {"requests": {CI: ["deploy"]}}, "production": {}}))
    assert known(layout)
    assert not known(layout, verb="plan")
    assert not known(layout, environment="production")
    assert not known(layout, minion="web-1")
    before = layout.request_lists.stat().st_ino
    keep_lists(layout, pillar({"staging": {"requests": {CI: ["deploy"]}}}))
    assert layout.request_lists.stat().st_ino == before  # nothing new is not written
    keep_lists(layout, pillar({"staging": {}}))
    assert not known(layout)


@pytest.mark.parametrize(
    "tree", [{}, {"infrastructure": None}, pillar(None), pillar({"a": None}), pillar({"a": {"requests": ["x"]}})]
)
def test_a_pillar_without_lists_leaves_no_file(tmp_path, tree):
    keep_lists(Layout(tmp_path), tree)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff"])
def test_a_copy_that_cant_be_read_lets_nobody_in(tmp_path, content):
    layout = Layout(tmp_path)
    layout.request_lists.write_bytes(content)
    assert not known(layout)


@pytest.mark.parametrize("components", ["", "consul", ["consul", "vault"], "consul, vault"])
def test_what_the_minions_module_sends_is_what_its_data_store_holds(components):
    spec = importlib.util.spec_from_file_location("saltform_request", MODULE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    store, sent = {}, []
    functions = {"data.update": store.__setitem__, "event.send": lambda tag, data: sent.append((tag, data)) or True}
    module.__salt__ = functions
    returned = module.send("deploy", "staging", components)
    [(tag, data)] = sent
    asked = Asked.read(tag.split("/")[2], CI, data)
    asked.check_form()
    assert store == {"saltform_request": asked.digest}
    assert (returned["nonce"], returned["sent"]) == (asked.nonce, True)
    assert module.send("deploy", "staging")["nonce"] != asked.nonce


def test_the_digest_is_of_four_lines_and_of_nothing_else():
    asked = Asked("deploy", CI, "staging", "consul", "n0123456789abcdef")
    assert asked.digest == hashlib.sha256(b"deploy\nstaging\nconsul\nn0123456789abcdef").hexdigest()
