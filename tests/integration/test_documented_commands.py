"""Every command of the runner that README, docs and docstrings show works as it is written."""

from __future__ import annotations

import ast
import re
import shlex

import pytest

from tests.support.cluster import HOME, ROOT

# The documents speak of these components; the cluster's environment has its own two.
NAMES = {"consul": "app", "networking": "base", "store": "base"}
# Nothing has drifted in this cluster, so there is nothing to acknowledge: the command is understood, and says so.
NOTHING_TO_DO = {
    "acknowledge": "UnknownName",
    # There was only one deploy: nothing to go back to.
    "rollback": "SaltformError",
    "request": "NotAllowed",  # no minion of that name is on a list
    "accept_key": "SaltformError",  # the token is one that only the document has
    "restore": "StateError",  # this master has something to lose
    # Runs are named by an id that only the document has.
    **dict.fromkeys(("resume", "abandon", "cancel", "log", "approve", "reject"), "UnknownName"),
}


def documented() -> list[str]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    shown = r"^(?:\$ )?(salt-run infrastructure\..*)$"
    found = [line for page in pages for line in re.findall(shown, page.read_text(), re.M)]
    tree = ast.parse((ROOT / "salt" / "_runners" / "infrastructure.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            found += re.findall(r"^ *(salt-run infrastructure\..*)$", ast.get_docstring(node) or "", re.M)
    return list(dict.fromkeys(found))


def in_order(command: str) -> int:
    """Deploys and promotions before what looks at their results, destroys last; otherwise as documented."""
    first = (".deploy staging", ".promote staging production")
    rank = next((place for place, words in enumerate(first) if words in command), len(first))
    return len(first) + 1 if ".destroy" in command else rank


@pytest.mark.parametrize("command", sorted(documented(), key=in_order))
def test_a_documented_command_works(cluster, command):
    words = shlex.split(command)
    for name, ours in NAMES.items():
        words = [re.sub(rf"\b{name}\b", ours, word) for word in words]
    words = [word.replace("/var/backups", str(cluster.folder)) for word in words]
    done = cluster.run(*words, "--out=json")
    verb = done.tree["verb"]
    assert words[1] == f"infrastructure.{verb}"
    if verb in NOTHING_TO_DO:
        assert done.tree["error"]["type"] == NOTHING_TO_DO[verb]
    else:
        assert done.exit_code in (0, 2), done.stdout + done.stderr


def test_every_verb_of_the_runner_has_an_example():
    tree = ast.parse((ROOT / "salt" / "_runners" / "infrastructure.py").read_text())
    verbs = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}
    shown = {command.split()[1].removeprefix("infrastructure.") for command in documented()}
    assert verbs <= shown


def test_the_command_that_explains_all_arguments_is_there(cluster):
    fix = cluster.runner("plan", "staging", "enviroment=x").tree["error"]["fix"]
    command = fix.removesuffix(" shows all arguments")
    assert f"`{command}`" in (ROOT / "README.md").read_text()
    done = cluster.run(*command.split())
    assert done.exit_code == 0
    assert "infrastructure.deploy:" in done.stdout


def orchestrations() -> list[str]:
    """Those of the page about them, a destroy last."""
    page = (ROOT / "docs" / "orchestrate.md").read_text()
    return sorted(
        re.findall(r"^\$ (salt-run state\.orchestrate .*)$", page, re.M), key=lambda line: ".destroy" in line
    )


@pytest.mark.parametrize("command", orchestrations())
def test_a_documented_orchestration_works(cluster, command):
    cluster.write_sls("top", {"base": {HOME: ["nothing"]}})
    cluster.write_sls("nothing", {"nothing": {"test.nop": []}})
    page = (ROOT / "docs" / "orchestrate.md").read_text()
    (cluster.sls / "release.sls").write_text(re.findall(r"^```yaml\n(.*?)^```", page, re.M | re.S)[0])
    words = [word.replace("staging-*", HOME).replace("consul", "app") for word in shlex.split(command)]
    done = cluster.run(*words, "--out=json")
    if '"component"' in command:  # the one that is shown with what it answers
        assert (done.exit_code, "Did you mean 'components'?" in done.stdout) == (1, True)
        assert "Did you\n    mean 'components'?" in page
    else:
        assert done.exit_code == 0, done.stdout + done.stderr
