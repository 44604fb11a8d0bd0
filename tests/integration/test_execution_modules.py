"""`terraform.*` and `infrastructure.*` on the minion."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.support.cluster import HOME, ROOT, Cluster


def test_a_component_is_applied_asked_and_destroyed_on_its_home(cluster: Cluster) -> None:
    applied, code = cluster.ask("terraform.apply", "modules/base")
    assert (applied["success"], code) == (True, 0), applied
    assert cluster.ask("terraform.output", "modules/base", "name") == ("base", 0)
    assert cluster.ask("terraform.output", "modules/base", "password") == ("(sensitive)", 0)
    assert cluster.ask("terraform.state_list", "modules/base") == (["terraform_data.this"], 0)
    assert cluster.ask("infrastructure.components", "modules") == (["base", "app"], 0)
    assert cluster.ask("infrastructure.status", "modules")[0]["base"]["status"] == "applied"
    assert "base" in cluster.ask("infrastructure.graph", "modules")[0]
    assert cluster.ask("infrastructure.outputs", "modules")[0]["base"]["password"] == "(sensitive)"
    destroyed, code = cluster.ask("terraform.destroy", "modules/base", yes=True)
    assert (destroyed["steps"]["base"]["status"], code) == ("destroyed", 0)
    assert cluster.ask("terraform.state_list", "modules/base") == ([], 0)


def test_every_command_is_there(cluster: Cluster) -> None:
    functions, _code = cluster.ask("sys.list_functions", "terraform")
    wanted = (
        "version init validate fmt_check plan show apply destroy output state_list state_show state_rm state_mv "
        "import_resource taint untaint force_unlock workspace_path providers"
    )
    assert functions == sorted(f"terraform.{name}" for name in wanted.split())


def test_a_failed_run_fails_the_job(cluster: Cluster) -> None:
    returned, code = cluster.ask("terraform.apply", "broken/bad")
    assert (returned["retcode"], code) == (1, 1)


def test_an_error_is_a_message_and_an_exit_code(cluster: Cluster) -> None:
    ended = cluster.call("terraform.apply", "modules/bsae")
    assert ended.exit_code != 0
    assert "Did you mean 'base'?" in ended.stderr
    assert "Traceback" not in ended.stdout + ended.stderr


def test_the_author_of_a_job_is_who_sent_it(cluster: Cluster) -> None:
    sent = cluster.run(
        "salt", HOME, "terraform.init", "modules/base", "--out=json", "--static", env={"SUDO_USER": "jo"}
    )
    assert sent.tree[HOME]["success"], sent
    assert cluster.newest_run("modules")["author"] == "sudo_jo"


def test_a_minion_that_is_not_the_home_refuses_and_says_where(cluster: Cluster, tmp_path: Path) -> None:
    settings = {
        "id": "web-1",
        "root_dir": str(tmp_path),
        "file_client": "local",
        "file_roots": {"base": [str(ROOT / "salt")]},
        "pillar_roots": {"base": [str(cluster.pillar)]},
    }
    (tmp_path / "minion").write_text(yaml.safe_dump(settings))
    ended = cluster.run("salt-call", "-c", str(tmp_path), "--local", "terraform.apply", "modules/base")
    assert ended.exit_code != 0
    assert "web-1 is not the home of any component" in ended.stderr
    assert "on the master" in ended.stderr


def test_it_works_without_a_master(cluster: Cluster) -> None:
    """salt-call --local on the home minion: same state, same records, nobody to tell."""
    words = ("--local", f"--file-root={ROOT / 'salt'}", f"--pillar-root={cluster.pillar}", "--out=json")
    ended = cluster.run("salt-call", *words, "terraform.plan", "modules/base")
    assert ended.exit_code == 0, ended
    assert ended.tree["local"]["retcode"] == 2
