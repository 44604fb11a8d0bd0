"""The example of a master's schedule, as it is but for its times: it checks, keeps results, and tells of changes."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml

from saltform.runlog import RunLog
from tests.support.cluster import ROOT, Cluster, data, wait_for

EXAMPLE = ROOT / "examples" / "master.d" / "saltform-drift.conf"


@pytest.fixture
def webhook():
    """A web server that keeps what it is told."""
    told = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            """Quiet."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/drift", told
    server.shutdown()
    thread.join()
    server.server_close()


def hurried(tree, webhook):
    """The example with seconds for hours."""
    for job in tree["schedule"].values():
        for name in ("hours", "minutes", "splay"):
            job.pop(name, None)
        job["seconds"] = 3
    tree["schedule"]["saltform drift staging"]["kwargs"] |= {"every": "2s", "over": "1s"}
    tree["saltform_notify"]["webhook"] = webhook
    misspelt = {"function": "infrastructure.drift", "kwargs": {"environment": "staging", "evry": "2s"}, "seconds": 3}
    tree["schedule"]["misspelt"] = misspelt
    return tree


def test_the_example_checks_keeps_results_and_tells_only_of_changes(factories, tmp_path, webhook):
    url, told = webhook
    files = Cluster(tmp_path)
    tree = {"infrastructure": {"environments": {"staging": {"components": {"base": data("base")}}}}}
    (files.pillar / "infrastructure.sls").write_text(yaml.safe_dump(tree))
    (files.pillar / "top.sls").write_text(yaml.safe_dump({"base": {"scheduled*": ["infrastructure"]}}))
    # With what the example shows as comments: one of Salt's returners gets the news too.
    example = hurried(yaml.safe_load(EXAMPLE.read_text().replace("# event_return", "event_return")), url)
    returned = {"event_return": ["rawfile_json"], "rawfile_json.filename": str(tmp_path / "returned")}
    settings = {**files.master_settings(), **example, **returned}
    daemon = factories.salt_master_daemon("scheduled", overrides=settings, start_timeout=180)
    files.master_config = Path(daemon.config_dir)
    with daemon.started():
        assert files.runner("deploy", "staging").exit_code == 0
        wait_for(lambda: any(item["status"] == "clean" for item in told))
        seen = len(checks(files))
        wait_for(lambda: len(checks(files)) >= seen + 2)
        log_file = Path(daemon.config["log_file"])
        wait_for(lambda: "drift has no such argument. Did you mean 'every'?" in log_file.read_text())
    assert [item["status"] for item in told if item["component"] == "base"].count("clean") == 1, told
    assert all(run["status"] == "done" for run in checks(files)[1:])
    assert told[-1]["text"].startswith("staging/base is clean")
    returned = [json.loads(line) for line in (tmp_path / "returned").read_text().splitlines()]
    assert {event["tag"] for event in returned} == {"saltform/drift/staging/base/changed"}
    assert sorted(event["data"]["status"] for event in returned) == sorted(item["status"] for item in told)
    log = RunLog(files.layout.runlog)
    try:
        assert log.copies.all("staging")["base"].resources
    finally:
        log.close()


def checks(files):
    return [run for run in files.runs("staging") if run["verb"] == "drift"]
