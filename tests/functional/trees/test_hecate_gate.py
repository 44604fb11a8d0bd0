"""Hecate's gate with a real Caddy: what it runs is what is written, or what it ran before."""

from __future__ import annotations

import json
import sys
import urllib.request
from pathlib import Path

import pytest

from hive_emulator.testing import free_port
from tests.support.salt_local import SaltCall, changed, failed
from tests.support.servers import running, through_hecate

CADDY = Path(sys.executable).with_name("caddy")
ME = "lab-1"


class Lab:
    """One host with Hecate on it, and one upstream."""

    def __init__(self, folder: Path) -> None:
        self.minion, self.root, self.folder = SaltCall(folder, ME), folder / "host", folder
        self.port, self.upstream, self.admin = free_port(), free_port(), f"127.0.0.1:{free_port()}"
        caddyfile = self.root / "etc/hecate/Caddyfile"
        reload = f"{CADDY} reload --adapter caddyfile --config {caddyfile} --address {self.admin}"
        self.options = {"program": str(CADDY), "port": self.port, "admin": self.admin, "reload": reload}
        self.outputs = {
            "address": "127.0.0.1",
            "addresses": ["127.0.0.1"],
            "hosts": {ME: "127.0.0.1"},
            "upstreams": [{"name": "hera", "port": self.upstream, "addresses": ["127.0.0.1"], "health_path": "/"}],
            "health_check": {"interval": 10, "timeout": 2, "failures": 3},
        }

    def apply(self, domain: str = "lab.test", **options):
        components = {"root": str(self.root), "hecate": {**self.options, "domain": domain}}
        self.minion.pillar({"terraform": {"lab": {"hecate": self.outputs}}, "components": components})
        return self.minion.apply("components.hecate", **options)

    def caddy(self):
        home = {"HOME": str(self.folder / "caddy"), "CADDY_ADMIN": self.admin}
        return running(str(CADDY), "run", ready=f"http://{self.admin}/config/", **home)

    def serving(self):
        """The upstream: a page of this host."""
        (self.folder / "page").mkdir(exist_ok=True)
        (self.folder / "page" / "index.html").write_text("the page")
        command = [sys.executable, "-m", "http.server", str(self.upstream), "--bind", "127.0.0.1"]
        return running(*command, "--directory", str(self.folder / "page"), ready=f"http://127.0.0.1:{self.upstream}/")

    def serves(self, host: str) -> bool:
        return b"the page" in through_hecate(self.port, host, "/")


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path)


def test_a_dry_run_on_a_fresh_host_shows_what_would_be_done(lab):
    results = lab.apply(test=True)
    assert failed(results) == {}
    assert [results[name]["result"] for name in ("hecate live", "hecate reloaded")] == [None, None]
    assert not lab.root.exists()


def test_a_reload_that_failed_is_tried_again_once_the_upstreams_answer(lab):
    with lab.serving():
        without_caddy = lab.apply()
        assert set(failed(without_caddy)) == {"hecate reloaded"}
    with lab.caddy():
        unanswered = lab.apply()
        assert "hecate upstreams answer" in failed(unanswered)
        with lab.serving():
            again = lab.apply()
            assert (failed(again), changed(again)) == ({}, {"hecate upstreams answer", "hecate reloaded"})
            assert lab.serves("hera.lab.test")
            assert changed(lab.apply()) == set()


def test_what_somebody_else_loaded_into_caddy_is_replaced_by_what_is_written(lab):
    with lab.caddy(), lab.serving():
        assert failed(lab.apply()) == {}
        other = json.dumps({"admin": {"listen": lab.admin}}).encode()
        asked = urllib.request.Request(f"http://{lab.admin}/load", other, {"Content-Type": "application/json"})
        urllib.request.urlopen(asked, timeout=10).close()
        assert "hecate reloaded" in changed(lab.apply())
        assert lab.serves("hera.lab.test")


def test_an_empty_list_of_upstreams_is_refused_and_the_old_ones_are_served(lab):
    with lab.caddy(), lab.serving():
        assert failed(lab.apply()) == {}
        lab.outputs["upstreams"] = []
        refused = failed(lab.apply())
        assert "hecate of lab has no upstreams" in refused["hecate upstreams named"]
        assert {"hecate configuration", "hecate live", "hecate reloaded"} <= set(refused)
        assert lab.serves("hera.lab.test")


def test_one_that_does_not_run_is_not_kept_from_starting_by_its_upstreams(lab):
    """On a host, `hecate service` starts it with what is written; here, nothing but the reload is left to fail."""
    with lab.caddy(), lab.serving():
        assert failed(lab.apply()) == {}
    assert set(failed(lab.apply())) == {"hecate reloaded"}
