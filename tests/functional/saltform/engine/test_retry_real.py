"""What may pass by itself is tried again, with a new plan each time; what won't is not."""

from __future__ import annotations

import json
import time

from tests.support.runner_process import start
from tests.support.world import statuses


def flaky(world, tmp_path, said: str, failures: int, **retry):
    """A component that fails so many times with these words, and counts its tries."""
    tries = tmp_path / "tries"
    command = f"echo x >> {tries}; test $(wc -l < {tries}) -gt {failures} || {{ echo '{said}'; exit 1; }}"
    world.infrastructure["defaults"] = {"retry": {"wait": "0.1s", **retry}}
    world.components = {"flaky": {"module": "shell", "variables": {"command": command}}}
    return tries


def test_throttling_is_waited_out_and_every_try_has_a_plan_of_its_own(world, tmp_path):
    tries = flaky(world, tmp_path, "Throttling: Rate exceeded", 2)
    returned = world.deploy()
    assert statuses(returned) == {"flaky": "applied"}, returned
    assert tries.read_text().count("x") == 3
    assert world.processes.commands().count("plan") == world.processes.commands().count("apply") == 3
    assert [item["because"] for item in returned["steps"]["flaky"]["retries"]] == ["throttled", "throttled"]
    assert "planning again" in world.call("log", returned["run"], "flaky")["text"]
    assert set(statuses(world.deploy()).values()) == {"unchanged"}


def test_after_the_last_try_it_fails_with_the_last_error(world, tmp_path):
    tries = flaky(world, tmp_path, "connection reset by peer", 9, attempts=2)
    returned = world.deploy()
    assert statuses(returned) == {"flaky": "failed"}
    assert tries.read_text().count("x") == 2
    assert "connection reset" in returned["steps"]["flaky"]["error"]["detail"]


def test_what_does_not_pass_is_not_tried_again(world, tmp_path):
    tries = flaky(world, tmp_path, "VpcLimitExceeded: no more", 1)
    assert statuses(world.deploy()) == {"flaky": "failed"}
    assert tries.read_text().count("x") == 1


def test_one_attempt_means_never_again(world, tmp_path):
    tries = flaky(world, tmp_path, "Throttling: Rate exceeded", 1, attempts=1)
    assert statuses(world.deploy()) == {"flaky": "failed"}
    assert tries.read_text().count("x") == 1


def test_a_cancel_ends_the_wait(world, tmp_path):
    tries = flaky(world, tmp_path, "Throttling: Rate exceeded", 9, wait="10m", longest="10m")
    process = start(world, "deploy")
    deadline = time.monotonic() + 120
    while not (tries.exists() and list(world.state_dir.glob("runs/*/logs/flaky.log"))) or not any(
        "planning again" in path.read_text() for path in world.state_dir.glob("runs/*/logs/flaky.log")
    ):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.terminate()
    assert json.loads(process.communicate(timeout=120)[0])["retcode"] == 130


def test_a_destroy_is_tried_again_too(world, tmp_path):
    tries = tmp_path / "tries"
    gone = f"echo x >> {tries}; test $(wc -l < {tries}) -gt 1 || {{ echo 'Throttling: Rate exceeded'; exit 1; }}"
    world.module(
        "shell",
        'variable "command" {}\nresource "terraform_data" "this" {\n  input = var.command\n'
        '  provisioner "local-exec" {\n    when = destroy\n    command = self.input\n  }\n}\n',
    )
    world.infrastructure["defaults"] = {"retry": {"wait": "0.1s"}}
    world.components = {"a": {"module": "shell", "variables": {"command": gone}}}
    world.deploy()
    assert statuses(world.destroy()) == {"a": "destroyed"}
    assert tries.read_text().count("x") == 2


def test_bad_settings_are_refused_with_their_place(world):
    world.infrastructure["defaults"] = {"retry": {"attempts": 0, "wayt": "1s"}}
    world.components = {"a": {"module": "base", "variables": {"name": "a"}}}
    problems = {item["path"] for item in world.deploy()["error"]["problems"]}
    assert problems == {"infrastructure:defaults:retry:attempts", "infrastructure:defaults:retry:wayt"}
