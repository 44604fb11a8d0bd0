"""What all runs of a master may ask of one provider together, and what happens when it says that it is too much."""

from __future__ import annotations

import json
import os
import urllib.request

import pytest

from hive_emulator.testing import running_emulator
from tests.support.hive_world import HiveWorld
from tests.support.runner_process import start
from tests.support.world import statuses

# Terraform's own provider, which needs no download: what is limited is asked of nobody.
DESK = {"kind": "generic", "source": "terraform.io/builtin/terraform"}


def ledger_of(tmp_path, count: int) -> dict:
    """Components whose applies write down when they begin and end."""
    line = f'flock {tmp_path}/ledger -c "echo begin >> {tmp_path}/ledger"; sleep 0.3; echo end >> {tmp_path}/ledger'
    return {f"c{n}": {"module": "shell", "provider": "desk", "variables": {"command": line}} for n in range(count)}


def most_at_once(tmp_path) -> int:
    running = [0]
    for word in (tmp_path / "ledger").read_text().split():
        running.append(running[-1] + (1 if word == "begin" else -1))
    return max(running)


def test_two_runs_at_once_share_the_places_of_a_provider(world, tmp_path):
    world.infrastructure = {"providers": {"desk": {**DESK, "limits": {"processes": 1}}}}
    components = ledger_of(tmp_path, 4)
    processes = []
    for mine in (["c0", "c1"], ["c2", "c3"]):
        world.components = components
        processes.append(start(world, "deploy", {"components": mine}))
    for process in processes:
        returned = json.loads(process.communicate(timeout=300)[0])
        assert set(statuses(returned).values()) == {"applied"}, returned
    assert (tmp_path / "ledger").read_text().split().count("end") == 4
    assert most_at_once(tmp_path) == 1


def test_parallelism_is_terraforms_own_word(world):
    world.infrastructure = {"providers": {"desk": {**DESK, "limits": {"parallelism": 3}}}}
    world.components = {"a": {"module": "base", "provider": "desk", "variables": {"name": "a"}}}
    assert world.deploy()["retcode"] == 0
    asked = {argv[1]: "-parallelism=3" in argv for argv in world.processes.started if len(argv) > 1}
    assert (asked["plan"], asked["apply"]) == (True, True)
    assert not asked.get("init") and not asked.get("show")


def test_a_broken_provider_is_not_asked_again_by_everybody(world, tmp_path):
    tries = tmp_path / "tries"
    command = f"echo x >> {tries}; echo 'api error InternalError: StatusCode: 500'; exit 1"
    world.infrastructure = {
        "providers": {"desk": {**DESK, "limits": {"retries_per_minute": 2}}},
        "defaults": {"retry": {"attempts": 3, "wait": "0.1s"}},
    }
    world.components = {
        f"c{n}": {"module": "shell", "provider": "desk", "variables": {"command": command}} for n in range(4)
    }
    returned = world.deploy(on_error="continue")
    assert set(statuses(returned).values()) == {"failed"}
    assert tries.read_text().count("x") == 4 + 2  # not 4 × 3
    used_up = "the retries of desk for this minute are used up (limits:retries_per_minute)"
    assert returned["notes"].count(used_up) == 1
    assert any(used_up in step["error"]["detail"] for step in returned["steps"].values())


@pytest.fixture(scope="module")
def hive():
    with running_emulator() as running:
        yield running


def put_faults(hive, *faults) -> None:
    token = (hive.data_dir / "admin-token").read_text().strip()
    request = urllib.request.Request(
        f"{hive.endpoint}/_hive/faults",
        json.dumps(faults).encode(),
        {"Authorization": f"Bearer {token}"},
        method="PUT",
    )
    urllib.request.urlopen(request).close()


def test_when_hive_throttles_everything_is_halved_and_that_is_said(tmp_path, hive):
    world = HiveWorld(tmp_path, hive)
    provider = world.infrastructure["providers"]["hive"]
    provider |= {"limits": {"processes": 2, "parallelism": 8}, "settings": {"max_retries": 1}}
    world.infrastructure["defaults"] = {"retry": {"wait": "0.1s"}}
    world.module("net", 'resource "aws_vpc" "this" { cidr_block = "10.9.0.0/16" }\n')
    world.components = {"net": {"module": "net", "provider": "hive"}}
    put_faults(hive, {"action": "CreateVpc", "throttle": True, "times": 2})  # the SDK asks twice by itself
    returned = world.deploy()
    assert statuses(returned) == {"net": "applied"}, returned
    assert [item["because"] for item in returned["steps"]["net"]["retries"]] == ["throttled"]
    (note,) = [note for note in returned["notes"] if "throttles" in note]
    assert note.startswith("hive throttles: 1 process at once, 4 requests at once for each process from now on")
    (event,) = [data for tag, data in world.events.fired if tag == "saltform/provider/hive/throttled"]
    assert (event["processes"], event["parallelism"], event["component"]) == (1, 4, "staging/net")
    applies = [argv for argv in world.processes.started if "apply" in argv]
    first, second = (int(word[13:]) for argv in applies for word in argv if word.startswith("-parallelism="))
    assert first == 8 and second < 8
    assert world.call("show", returned["run"])["notes"] == returned["notes"]
    assert os.listdir(world.state_dir / "limits" / "hive")


def test_what_the_aws_provider_gives_up_after_its_five_retries_is_throttling_that_shows(tmp_path, hive):
    """With its own 25 the provider would wait for minutes, and nobody would learn why."""
    world = HiveWorld(tmp_path, hive)
    world.infrastructure["defaults"] = {"retry": {"wait": "0.1s"}}
    world.module("net", 'resource "aws_vpc" "this" { cidr_block = "10.8.0.0/16" }\n')
    world.components = {"net": {"module": "net", "provider": "hive"}}
    # Six answers in all, the first five of a kind that the provider waits for less long.
    failing = {"action": "CreateVpc", "error": "InternalError", "status": 500, "times": 5}
    put_faults(hive, failing, {"action": "CreateVpc", "throttle": True, "times": 1})
    returned = world.deploy()
    assert statuses(returned) == {"net": "applied"}, returned
    assert [item["because"] for item in returned["steps"]["net"]["retries"]] == ["throttled"]
    assert any(note.startswith("hive throttles: ") for note in returned["notes"])
    applies = [argv for argv in world.processes.started if "apply" in argv]
    assert len(applies) == 2
