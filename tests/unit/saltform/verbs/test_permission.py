"""Every role, every verb, every environment: who may, and who may not; and nothing that gets around it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from saltform.bridge import runner
from saltform.config import Settings
from saltform.config.roles import ROLES
from saltform.engine.services import Services
from saltform.errors import ConfigError, NotAllowed
from saltform.runlog import RunLog, RunRecord, StepRecord
from saltform.verbs import component_commands, component_states
from saltform.verbs.permission import check_call, check_work

RUNNER = Path(__file__).parents[4] / "salt" / "_runners" / "infrastructure.py"
OF_MINIONS = ("request", "accept_key")  # a reactor calls them: a list of ids, or a token, is what counts there
VERBS = [
    node.name
    for node in ast.parse(RUNNER.read_text()).body
    if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.name not in OF_MINIONS
]
# What each role may, written once more by hand: a table that both sides read would prove nothing.
VIEWS = {
    *("validate", "graph", "status", "outputs", "history", "show", "log", "locks", "report", "audit"),
    *("approvals", "releases", "diff", "keys"),
}
PLANS = VIEWS | {"plan", "preflight", "credentials", "drift", "sync_states"}
DEPLOYS = PLANS | {
    *("deploy", "destroy", "promote", "rollback", "upgrade", "acknowledge", "resume", "abandon", "cancel"),
}
MAY = {
    "viewer": VIEWS,
    "planner": PLANS,
    "deployer": DEPLOYS,
    "approver": PLANS | {"approve", "reject"},
    "admin": set(VERBS),
    "nobody": set(),
}
OF_A_MASTER = ("prune", "backup", "restore")
OF_A_RUN = ("show", "resume", "abandon", "cancel", "log", "report", "approve", "reject")
CHANGES = {"deploy": {}, "destroy": {"yes": True}, "promote": {}, "rollback": {}}
ENVIRONMENTS = ("staging", "production")


def pillar(**roles):
    tree = {name: {"components": {"a": {"module": "m"}}} for name in ENVIRONMENTS}
    return {"infrastructure": {"environments": tree, "groups": {"sre": ["sue"]}, "roles": roles}}


EACH = pillar(**{role: {environment: [f"{role}-{environment}"] for environment in ENVIRONMENTS} for role in ROLES})


@pytest.fixture(scope="module")
def state_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("state")
    log = RunLog(folder / "runs.sqlite")
    for environment in ENVIRONMENTS:
        log.begin(RunRecord(f"run-{environment}", environment, "deploy", "ada", {}))
    log.close()
    return folder


@pytest.fixture
def services(state_dir):
    context = []

    def make(author, tree=EACH, origin="master"):
        context.append(Services(Settings(state_dir), tree, author=author, origin=origin))
        return context[-1]

    yield make
    for each in context:
        each.close()


def arguments(verb, environment):
    if verb in OF_A_RUN:
        return [f"run-{environment}"]
    if verb in ("promote", "diff"):
        return [environment, environment, CHANGES.get(verb, {})]
    return [environment, CHANGES.get(verb, {})]


def may(services, verb, *given):
    try:
        check_call(services, verb, given)
    except NotAllowed:
        return False
    return True


@pytest.mark.parametrize("verb", VERBS)
def test_every_role_may_do_what_it_is_for_in_its_environment_and_nowhere_else(services, verb):
    for role, verbs in MAY.items():
        for home in ENVIRONMENTS:
            who = services(f"{role}-{home}")
            for environment in ENVIRONMENTS:
                expected = verb in verbs and environment == home and verb not in OF_A_MASTER
                assert may(who, verb, *arguments(verb, environment)) is expected, (role, home, verb, environment)


@pytest.mark.parametrize("verb", VERBS)
def test_without_roles_everybody_that_salt_lets_in_may(services, verb):
    tree = pillar()
    del tree["infrastructure"]["roles"]
    assert may(services("anybody", tree), verb, *arguments(verb, "staging"))


@pytest.mark.parametrize("verb", VERBS)
def test_root_always_may(services, verb):
    for author, origin in (("root", "shell"), ("root", "master"), ("root", "minion m"), ("sudo_ada", "shell")):
        assert may(services(author, origin=origin), verb, *arguments(verb, "staging"))


def test_who_became_root_elsewhere_needs_a_role_under_the_full_name(services):
    for name, expected in (("ada", False), ("sudo_ada", True)):
        who = services("sudo_ada", pillar(deployer={"staging": [name]}), origin="minion m")
        assert may(who, "deploy", "staging", {}) is expected


@pytest.mark.parametrize("name", ["sudo_ada", "Root", "ROOT", "admin", "*", "@sre", ""])
def test_nobody_is_root_by_calling_themselves_so_over_the_api(services, name):
    assert not may(services(name), "deploy", "staging", {})


@pytest.mark.parametrize("verb", ["deploy", "destroy", "promote", "rollback"])
@pytest.mark.parametrize("dry", [True, "True", "yes", 1])
def test_a_dry_run_is_a_plan(services, verb, dry):
    given = [item if not isinstance(item, dict) else {**item, "dry_run": dry} for item in arguments(verb, "staging")]
    assert may(services("planner-staging"), verb, *given)
    assert not may(services("viewer-staging"), verb, *given)
    real = [item if not isinstance(item, dict) else {**item, "dry_run": "False"} for item in given]
    assert not may(services("planner-staging"), verb, *real)


def test_a_destroy_that_only_shows_is_a_plan_and_a_check_that_heals_is_a_deploy(services):
    assert may(services("planner-staging"), "destroy", "staging", {"yes": None})
    assert not may(services("planner-staging"), "destroy", "staging", {"yes": "True"})
    assert may(services("planner-staging"), "drift", "staging", {"heal": "False"})
    assert not may(services("planner-staging"), "drift", "staging", {"heal": "True"})
    assert may(services("planner-staging"), "drift", "staging", {"heal": "True", "dry_run": "True"})


@pytest.mark.parametrize("verb", OF_A_MASTER)
def test_what_is_about_the_whole_master_needs_the_role_everywhere_whatever_its_arguments(services, verb):
    assert may(services("zoe", pillar(admin={"*": ["zoe"]})), verb, "staging")
    assert not may(services("admin-staging"), verb, "staging")
    assert not may(services("dora", pillar(deployer={"*": ["dora"]})), verb, "staging")


@pytest.mark.parametrize("verb", ["history", "validate", "sync_states", "audit", "approvals", "resume"])
def test_what_is_about_all_environments_needs_the_role_in_all_of_them(services, verb):
    everywhere = pillar(admin={"*": ["zoe"]}, viewer={"stag*": ["*"]})
    assert may(services("zoe", everywhere), verb, None)
    assert not may(services("admin-staging"), verb, None)


@pytest.mark.parametrize("verb", ["resume", "abandon", "cancel", "approve", "reject"])
def test_the_last_run_may_be_anybodys_so_acting_on_it_needs_the_role_everywhere(services, verb):
    """`resume last` means the newest that is not finished, which is not the newest of all."""
    role = "approver" if verb in ("approve", "reject") else "deployer"
    with pytest.raises(NotAllowed):
        check_call(services(f"{role}-production"), verb, ["last"])  # the newest one of all is production's
    check_call(services("viewer-staging"), "show", ["last"])


@pytest.mark.parametrize("verb", ["show", "log", "report"])
@pytest.mark.parametrize("author", ["viewer-staging", "root"])
def test_the_last_run_is_looked_up_once_and_that_one_is_answered_for(tmp_path, verb, author):
    """A run of another environment that begins between the check and the answer is not what was checked."""

    class RacingLog(RunLog):
        asked = 0

        def run(self, run):
            found = super().run(run)
            if run == "last":
                self.asked += 1
                self.begin(RunRecord(f"{self.asked + 1}", "production", "deploy", "ada", {}))
            return found

    log = RacingLog(tmp_path / "runs.sqlite")
    log.begin(RunRecord("1", "staging", "deploy", "ada", {"web": ()}))
    log.add_steps("1", [StepRecord("web", "applied", log=str(tmp_path / "web.log"))])
    (tmp_path / "web.log").write_text("of staging\n")
    services = Services(Settings(tmp_path), EACH, author=author, origin="master", _runlog=log)
    more = {"show": (), "log": ("web",), "report": ("json",)}[verb]
    try:
        returned = runner.call(verb, services, "last", *more)
    finally:
        services.close()
    assert returned["environment"] == "staging"
    assert log.asked == 1


def test_a_promotion_needs_to_see_where_it_comes_from(services):
    tree = pillar(deployer={"production": ["dora"]}, viewer={"staging": ["vic"]})
    assert not may(services("dora", tree), "promote", "staging", "production", {})
    tree = pillar(deployer={"production": ["dora"]}, viewer={"staging": ["*"]})
    assert may(services("dora", tree), "promote", "staging", "production", {})
    assert not may(services("dora", tree), "promote", "production", "staging", {})
    assert not may(services("dora", tree), "promote", "staging", None, {})


def test_groups_and_everybody(services):
    tree = pillar(deployer={"production": ["@sre"]}, viewer={"*": ["*"]})
    assert may(services("sue", tree), "deploy", "production", {})
    assert not may(services("sue", tree), "deploy", "staging", {})
    assert may(services("whoever", tree), "status", "staging")


def test_a_verb_that_no_role_knows_is_the_admins(services):
    assert not may(services("deployer-staging"), "explode", "staging")
    assert may(services("admin-staging"), "explode", "staging")


def test_no_roles_at_all_under_roles_means_nobody(services):
    assert not may(services("ada", pillar()), "status", "staging")


@pytest.mark.parametrize(
    ("roles", "said"),
    [
        ({"deploier": {"staging": ["a"]}}, "did you mean 'deployer'?"),
        ({"deployer": {"stagin": ["a"]}}, "did you mean 'staging'?"),
        ({"deployer": {"staging": ["@sr"]}}, "did you mean 'sre'?"),
        ({"deployer": {"staging": {"a": 1}}}, "expected a list of strings"),
        ({"deployer": ["a"]}, "infrastructure:roles:deployer: found a list, expected a mapping"),
        (["a"], "infrastructure:roles: found a list, expected a mapping"),
    ],
)
def test_roles_that_cant_be_read_let_nobody_in(services, roles, said):
    tree = pillar()
    tree["infrastructure"]["roles"] = roles
    with pytest.raises(ConfigError) as caught:
        check_call(services("admin-staging", tree), "status", ["staging"])
    assert said in str(caught.value)
    with pytest.raises(ConfigError):
        runner.call("validate", services("root", tree, "shell"), "staging")


WORK = {
    **dict.fromkeys(("version", "validate", "fmt_check", "providers", "show", "output", "state_list"), "viewer"),
    **dict.fromkeys(("state_show", "workspace_path"), "viewer"),
    "plan": "planner",
    **dict.fromkeys(("apply", "destroy", "init"), "deployer"),
    **dict.fromkeys(("state_rm", "state_mv", "import_resource", "taint", "untaint", "force_unlock"), "admin"),
}
ORDER = ("viewer", "planner", "deployer", "admin")


def may_work(services, *given):
    try:
        check_work(services, *given)
    except NotAllowed:
        return False
    return True


@pytest.mark.parametrize(("work", "least"), WORK.items())
def test_terraforms_own_commands_need_a_role_too(services, work, least):
    assert callable(getattr(component_commands, work))
    given = ("staging/web", {"yes": True})
    for role in ORDER:
        expected = ORDER.index(role) >= ORDER.index(least)
        assert may_work(services(f"{role}-staging"), work, given) is expected, role
        assert not may_work(services(f"{role}-production"), work, given)


def test_states_under_test_are_plans(services):
    assert callable(component_states.present)
    for work in ("present", "absent"):
        assert may_work(services("planner-staging"), work, ("staging/web", {}, True))
        assert not may_work(services("planner-staging"), work, ("staging/web", {}, False))
        assert may_work(services("deployer-staging"), work, ("staging/web", {}, False))
    assert may_work(services("viewer-staging"), "output", ("staging/web.id", {}, False))


def test_a_refusal_says_who_what_where_and_what_is_there(services):
    with pytest.raises(NotAllowed) as caught:
        runner.call("deploy", services("viewer-staging"), "staging", {})
    assert str(caught.value).startswith("viewer-staging may not deploy in staging: found viewer there")
