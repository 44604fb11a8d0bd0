"""The runner through `salt-run`: exit codes, clean output, progress, who it was, cancellation."""

from __future__ import annotations

import json
import signal

import pytest

from saltform.runlog import flock
from saltform.tfstate import read
from tests.support.cluster import TIMEOUT, Cluster, wait_for


def test_an_environment_is_planned_deployed_found_unchanged_and_destroyed(cluster: Cluster) -> None:
    planned = cluster.runner("plan", "staging")
    assert (planned.exit_code, planned.tree["retcode"]) == (2, 2)
    deployed = cluster.runner("deploy", "staging")
    assert deployed.exit_code == 0, deployed
    assert [step["status"] for step in deployed.tree["steps"].values()] == ["applied", "applied"]
    again = cluster.runner("deploy", "staging")
    assert again.exit_code == 0
    assert {step["status"] for step in again.tree["steps"].values()} == {"unchanged"}
    destroyed = cluster.runner("destroy", "staging", "yes=True")
    assert destroyed.exit_code == 0
    assert list(destroyed.tree["steps"]) == ["app", "base"]


def test_json_is_alone_on_stdout_and_progress_is_on_stderr(cluster: Cluster) -> None:
    ended = cluster.runner("deploy", "json")
    assert json.loads(ended.stdout)["success"] is True
    lines = [line for line in ended.stderr.splitlines() if "applied" in line]
    assert [line.split()[1] for line in lines] == ["base", "app"]
    assert "\x1b[" not in ended.stderr


def test_without_an_outputter_a_person_reads_a_table(cluster: Cluster) -> None:
    ended = cluster.run("salt-run", "infrastructure.graph", "json")
    assert ended.exit_code == 0
    assert "base" in ended.stdout
    assert "outputter" not in ended.stdout


def test_a_failed_component_fails_the_run_and_skips_what_needs_it(cluster: Cluster) -> None:
    ended = cluster.runner("deploy", "broken")
    assert ended.exit_code == 1
    steps = ended.tree["steps"]
    assert (steps["bad"]["status"], steps["next"]["status"]) == ("failed", "skipped")
    assert "went wrong" in steps["bad"]["error"]["detail"]
    assert "Traceback" not in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["wrong"], "infrastructure:environments:wrong:components:base:varibles"),
        (["stagin"], "Did you mean 'staging'?"),
        (["staging", "components=bsae"], "Did you mean 'base'?"),
        (["staging", "refrsh=True"], "refrsh"),
        (["staging", "parallelism=many"], "whole number"),
    ],
)
def test_bad_input_is_one_message_and_changes_nothing(cluster: Cluster, arguments: list[str], said: str) -> None:
    ended = cluster.runner("deploy", *arguments)
    assert ended.exit_code == 1
    assert said in json.dumps(ended.tree["error"], ensure_ascii=False)
    assert "Traceback" not in ended.stdout + ended.stderr
    assert not cluster.layout.states("wrong", "base").exists()


def test_a_locked_component_is_left_alone(cluster: Cluster) -> None:
    lock = cluster.layout.component_lock("locked", "base")
    with flock.hold(lock, {"run": "20260101000000000000", "author": "somebody"}, "locked/base"):
        ended = cluster.runner("deploy", "locked")
    assert ended.exit_code == 75
    assert "somebody" in ended.tree["steps"]["base"]["error"]["detail"]
    assert ended.tree["steps"]["app"]["status"] == "skipped"


def test_an_interrupt_cancels_the_run_in_good_order(cluster: Cluster) -> None:
    with cluster.running("salt-run", "infrastructure.deploy", "slow", "--out=json") as process:
        wait_for((cluster.folder / "asleep").exists)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 130, stderr
    steps = json.loads(stdout)["steps"]
    assert (steps["sleeper"]["status"], steps["next"]["status"]) == ("cancelled", "skipped")
    assert cluster.newest_run("slow")["status"] == "cancelled"
    # Terraform stopped by itself: what it had begun is in its state, and neither lock is left.
    state = cluster.layout.states("slow", "sleeper") / "terraform.tfstate"
    assert read(state).resources == ["module.main.terraform_data.this"]
    assert not state.with_name(".terraform.tfstate.lock.info").exists()
    assert flock.holder_of(cluster.layout.component_lock("slow", "sleeper")) is None


@pytest.mark.parametrize(("sudo", "author"), [("", "root"), ("jane", "sudo_jane")])
def test_the_author_is_whoever_is_at_the_shell(cluster: Cluster, sudo: str, author: str) -> None:
    words = ("infrastructure.plan", "staging", "__pub_user=mallory", "__user__=mallory", "__jid__=1")
    assert cluster.run("salt-run", *words, "--out=json", env={"SUDO_USER": sudo} if sudo else {}).exit_code == 2
    assert cluster.newest_run("staging")["author"] == author


INTERRUPTED = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "%s" and "salt-run" in sys.argv[0]:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
"""


@pytest.mark.parametrize(
    ("imported", "salts_word"), [("saltform.bridge.runner", ""), ("salt.netapi", "the module called exit()")]
)
def test_an_interrupt_before_the_verb_begins_is_130(cluster: Cluster, tmp_path, imported, salts_word):
    """Ctrl-C while the engine is imported, or before that: Salt's loader imports all runners (`auth` imports
    `salt.netapi`), takes the exit of Salt's own handler for a broken runner, and goes on."""
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTED % imported)
    ended = cluster.run("salt-run", "infrastructure.history", "staging", env={"PYTHONPATH": str(tmp_path)})
    assert ended.exit_code == 130, ended.stdout + ended.stderr
    assert "history was cancelled before it began" in ended.stdout
    assert salts_word in ended.stderr
    assert salts_word or "Traceback" not in ended.stdout + ended.stderr
