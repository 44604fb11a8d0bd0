"""A real apply brings a real minion up: its token lets it in, what needs it waits for its highstate, a drift check
looks at both, and a destroy takes its key away. Terraform, aws provider, master and minion are real, and so is the
module, one of terraform/modules; the cloud is the emulator. One life, told in the order of the tests.

Before Salt 3008 no token gets through: the deploy is refused until the master says that a person accepts keys.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hive_emulator.testing import RunningHive, running_emulator
from saltform.features.minions import drift as minion_drift
from saltform.report import text
from saltform.runlog import RunLog
from tests.support import machines
from tests.support.cluster import ROOT, SALT, TIMEOUT, Cluster, Ended, data, wait_for

MINION = "host-1"
TOKENS_GET_THROUGH = SALT >= 3008


@pytest.fixture(scope="module")
def room() -> Iterator[Path]:
    """Where the machines are: a short path, because a minion has sockets in there."""
    with tempfile.TemporaryDirectory(prefix="m-") as folder:
        try:
            yield Path(folder)
        finally:
            for machine in Path(folder).iterdir():
                machines.terminate(machine)


@pytest.fixture(scope="module")
def hive(room: Path) -> Iterator[RunningHive]:
    hook = f"{sys.executable} {ROOT / 'tests' / 'support' / 'machines.py'} {room}"
    with running_emulator(options=["--on-launch", hook, "--on-terminate", hook]) as running:
        yield running


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the minion's highstate writes."""
    return tmp_path_factory.mktemp("host") / "address"


@pytest.fixture(scope="module")
def hosted(master: Any, cluster_files: Cluster, hive: RunningHive, configured: Path) -> Cluster:
    """The cluster with an environment `hosted`: hosts that converge, and an app on them."""
    cluster = cluster_files
    module = cluster.folder / "modules" / "hosts"
    shutil.copytree(ROOT / "terraform" / "modules" / "hera-framework", module, dirs_exist_ok=True)
    ec2 = hive.client("ec2")
    [network], subnet = ec2.describe_vpcs()["Vpcs"], ec2.describe_subnets()["Subnets"][0]
    path = cluster.pillar / "infrastructure.sls"
    tree = yaml.safe_load(path.read_text())
    provider = {"kind": "aws", "endpoint": hive.endpoint, "region": hive.region, "ca": str(hive.ca or "")}
    tree["keys"] = {"AWS_ACCESS_KEY_ID": hive.access_key, "AWS_SECRET_ACCESS_KEY": hive.secret_key}
    tree["infrastructure"]["providers"] = {"hive": provider | {"credentials": {"pillar": {"path": "keys"}}}}
    hosts = {
        "module": "hosts",
        "provider": "hive",
        "variables": {
            "name": "host",
            "vpc_id": network["VpcId"],
            "subnet_ids": [subnet["SubnetId"]],
            "cidr": network["CidrBlock"],
            "salt_master": f"127.0.0.1:{master.config['ret_port']}",
        },
        "minions": [MINION],
        "targets": "G@role:host",
        "converge": {"target": "G@role:host", "highstate": True, "health": "test.ping", "timeout": "400s"},
    }
    tree["infrastructure"]["environments"]["hosted"] = {
        "components": {"hosts": hosts, "app": data("app", needs=["hosts"])}
    }
    path.write_text(yaml.safe_dump(tree))
    (cluster.sls / "top.sls").write_text("base: {'role:host': [{match: grain}, host]}\n")
    (cluster.sls / "host.sls").write_text(
        f"{configured}:\n  file.managed:\n"
        "    - contents: {{ pillar['terraform']['hosted']['hosts']['address'] | json }}\n"
    )
    return cluster


@pytest.fixture(scope="module")
def let_in(hosted: Cluster) -> Ended | None:
    """Somebody accepts the key, where no token does it. What a deploy said before that."""
    if TOKENS_GET_THROUGH:
        return None
    refused = hosted.runner("deploy", "hosted")
    hosted.accepted_by_hand.add(MINION)
    path = hosted.master_config / "master"
    settings = yaml.safe_load(path.read_text())
    settings["saltform"]["keys"] = "manual"
    path.write_text(yaml.safe_dump(settings))
    return refused


@pytest.fixture(scope="module")
def deployed(hosted: Cluster, let_in: Ended | None) -> Ended:
    ended = hosted.runner("deploy", "hosted")
    assert ended.exit_code == 0, ended.stdout + ended.stderr
    return ended


@pytest.fixture(scope="module")
def instance(deployed: Ended) -> str:
    [instance] = deployed.tree["outputs"]["hosts"]["minions"].values()
    return str(instance)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is there answers, however busy the machine is."""
    monkeypatch.setattr(minion_drift, "PING", TIMEOUT)


def keys(master: Any) -> list[str]:
    """Where the master has a key of the minion."""
    return [path.parent.name for path in Path(master.config["pki_dir"]).rglob(MINION)]


def ask(cluster: Cluster, verb: str, *arguments: str, **options: Any) -> dict[str, Any]:
    """What a verb of the runner returns. No process is started for asking."""
    import salt.config
    import salt.runner

    master = salt.config.master_config(str(cluster.master_config / "master"))
    asked = {"arg": list(arguments), "kwarg": options, "__user__": getpass.getuser()}
    with salt.runner.RunnerClient(master) as client:
        returned: dict[str, Any] = client.low(f"infrastructure.{verb}", asked, print_event=False)
    assert "error" not in returned, returned["error"]
    return returned


def drift(cluster: Cluster, **options: Any) -> dict[str, Any]:
    return ask(cluster, "drift", "hosted", "hosts", **options)


@pytest.mark.skipif(TOKENS_GET_THROUGH, reason="Salt 3008 lets tokens through")
def test_before_3008_a_deploy_that_waits_for_tokens_is_refused(let_in: Ended) -> None:
    assert let_in.exit_code == 1
    assert "older than 3008" in let_in.stdout and "saltform: {keys: manual}" in let_in.stdout


def test_an_instance_becomes_a_minion_and_what_needs_it_waits(
    hosted: Cluster, deployed: Ended, instance: str, master: Any, configured: Path
) -> None:
    steps = deployed.tree["steps"]
    assert {name: step["status"] for name, step in steps.items()} == {"hosts": "applied", "app": "applied"}
    # The highstate saw the address that the apply had made a moment before.
    assert configured.read_text().strip() == deployed.tree["outputs"]["hosts"]["address"]
    assert keys(master) == ["minions"]
    held = hosted.runner("keys", "hosted")
    assert held.exit_code == 0, held.stdout
    found = held.tree["components"]["hosts"][MINION]
    assert (found["instance"], found["token"].split()[0]) == (instance, "used" if TOKENS_GET_THROUGH else "good")
    with contextlib.closing(RunLog(hosted.layout.runlog)) as log:
        on_record = {step.component: step for step in log.steps(deployed.tree["run"])}
    assert on_record["app"].started >= on_record["hosts"].ended


def test_drift_of_the_instance_and_of_its_minion_is_one_report(
    hosted: Cluster, hive: RunningHive, instance: str, configured: Path
) -> None:
    before = drift(hosted)
    assert (before["retcode"], before["steps"]["hosts"]["check"]["minions"]) == (0, {MINION: {"status": "clean"}})

    configured.write_text("hush-hush\n")
    hive.client("ec2").create_tags(Resources=[instance], Tags=[{"Key": "Name", "Value": "by hand"}])
    returned = drift(hosted)
    found = returned["steps"]["hosts"]["check"]
    assert (returned["retcode"], found["status"]) == (2, "drifted")
    assert [(entry["attribute"], entry["after"]) for entry in found["findings"]] == [("tags.Name", "by hand")]
    [state] = found["minions"][MINION]["states"]
    assert state["state"] == f"file.managed {configured}"
    # The same as a table, as JSON and as Markdown.
    as_json, as_markdown = (
        Path(ask(hosted, "report", returned["run"], form)["path"]).read_text() for form in ("json", "markdown")
    )
    assert json.loads(as_json)["steps"]["hosts"]["check"]["minions"] == found["minions"]
    for said in (text.render(returned), as_markdown.replace("\\", "")):
        assert f"{MINION}: file.managed {configured}" in said
        assert 'tags.Name: "host-1" → "by hand"' in said
        assert "hush-hush" not in said  # what is in its files is the minion's


def test_healing_the_instance_leaves_its_minion_alone_unless_that_is_asked_for(
    hosted: Cluster, hive: RunningHive, instance: str, configured: Path
) -> None:
    """After the test before: a tag and a file are not as they should be, and `converge` has `highstate: True`."""
    healed = drift(hosted, heal=True)
    assert healed["healed"]["steps"]["hosts"]["status"] == "applied", healed
    [tags] = [
        item["Tags"] for each in hive.client("ec2").describe_instances()["Reservations"] for item in each["Instances"]
    ]
    assert {"Key": "Name", "Value": MINION} in tags
    assert configured.read_text() == "hush-hush\n"
    assert (healed["retcode"], healed["success"]) == (2, True)
    [line] = healed["still"]["hosts"]
    assert line.startswith(f"{MINION}: file.managed {configured}")
    assert "hush-hush" not in json.dumps(healed)

    with_minions = drift(hosted, heal=True, minions=True)
    assert (with_minions["retcode"], with_minions["still"]) == (0, {}), with_minions
    assert configured.read_text() != "hush-hush\n"
    assert drift(hosted)["retcode"] == 0


def test_a_minion_that_does_not_answer_is_unknown(
    hosted: Cluster, hive: RunningHive, instance: str, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hive.client("ec2").create_tags(Resources=[instance], Tags=[{"Key": "Name", "Value": MINION}])
    machines.terminate(room / instance)
    monkeypatch.setattr(minion_drift, "PING", 2.0)  # nobody is there to need longer
    returned = drift(hosted)
    found = returned["steps"]["hosts"]["check"]
    assert (returned["retcode"], found["status"], found["findings"]) == (1, "unknown", [])
    assert found["minions"] == {MINION: {"status": "unknown", "why": "it does not answer"}}


def test_a_destroy_takes_the_machine_and_its_key_away(
    hosted: Cluster, instance: str, master: Any, room: Path
) -> None:
    destroyed = hosted.runner("destroy", "hosted", "yes=True")
    assert destroyed.exit_code == 0, destroyed.stdout + destroyed.stderr
    assert keys(master) == []
    wait_for(lambda: not (room / instance / "pid").exists())
