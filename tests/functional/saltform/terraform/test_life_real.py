"""One component's life with a real terraform: every command does what its file says."""

from __future__ import annotations

import dataclasses
import json
import stat

import pytest

from saltform import tfstate
from saltform.errors import StalePlan, TerraformError
from saltform.terraform import (
    apply,
    fmt,
    import_,
    init,
    planning,
    providers,
    show,
    state,
    taint,
    validate,
    version,
)
from saltform.terraform.session import run_json, run_text

ROOT = {
    "variable": {"size": {"default": 1}},
    "resource": {
        "terraform_data": {
            "one": {"input": "${var.size}"},
            "many": {"for_each": {"a b": 1, "ü": 2}, "input": "${each.value}"},
        }
    },
    "output": {
        "id": {"value": "${terraform_data.one.id}"},
        "secret": {"value": "hush-hush", "sensitive": True},
        "list": {"value": ["x", 1, None]},
    },
}


def listed(session):
    """The addresses in the state, as terraform itself lists them."""
    return run_text(session, ["state", "list"]).stdout


def changed(**resources):
    return {**ROOT, "resource": {"terraform_data": {**ROOT["resource"]["terraform_data"], **resources}}}


@pytest.fixture
def session(make_session, binary):
    session = make_session(binary, ROOT)
    init.run(session)
    return session


@pytest.fixture
def deployed(session):
    planning.run(session, session.workspace / "plan")
    apply.run(session, session.workspace / "plan")
    return session


def rewrite(session, root):
    (session.workspace / "main.tf.json").write_text(json.dumps(root))


def actions(plan):
    return {change["address"]: change["action"] for change in plan.changes}


def test_a_first_plan_and_its_apply(session):
    plan_file = session.workspace / "plan"
    plan = planning.run(session, plan_file)
    assert plan.changed
    assert actions(plan) == {
        "terraform_data.one": "create",
        'terraform_data.many["a b"]': "create",
        'terraform_data.many["ü"]': "create",
    }
    assert plan.counts == {"add": 3, "change": 0, "remove": 0, "import": 0}
    assert plan.outputs["secret"] == {"action": "create", "sensitive": True}
    events = []
    done = apply.run(session, plan_file, on_event=lambda event: events.append(event["type"]))
    assert sorted(done.applied) == sorted(actions(plan))
    assert done.outputs == ["id", "list", "secret"]
    assert {"apply_start", "apply_complete"} <= set(events)


def test_what_it_writes_is_private(deployed):
    for name in ("plan", "terraform.tfstate"):
        assert stat.S_IMODE((deployed.workspace / name).stat().st_mode) == 0o600


def test_our_reading_of_the_state_is_terraforms_own(deployed):
    found = tfstate.read(deployed.workspace / "terraform.tfstate")
    told = run_json(deployed, ["output", "-json"])
    assert {name: dataclasses.asdict(item) for name, item in found.outputs.items()} == told
    assert sorted(found.resources) == sorted(listed(deployed))


def test_a_second_plan_finds_nothing(deployed):
    plan = planning.run(deployed, deployed.workspace / "plan")
    assert (plan.changed, plan.changes, plan.drift) == (False, [], [])


def test_a_new_output_alone_is_a_change(deployed):
    rewrite(deployed, {**ROOT, "output": {**ROOT["output"], "new": {"value": 1}}})
    plan = planning.run(deployed, deployed.workspace / "plan")
    assert (plan.changed, plan.changes, plan.outputs["new"]["action"]) == (True, [], "create")


def test_update_delete_and_replace(deployed):
    rewrite(deployed, changed(one={"input": 2}, many={"for_each": {"ü": 2}, "input": "${each.value}"}))
    plan = planning.run(deployed, None, replace=['terraform_data.many["ü"]'])
    assert actions(plan) == {
        "terraform_data.one": "update",
        'terraform_data.many["a b"]': "delete",
        'terraform_data.many["ü"]': "replace",
    }
    assert plan.counts == {"add": 1, "change": 1, "remove": 2, "import": 0}


def test_a_destroy_is_a_plan_that_is_applied(deployed):
    plan = planning.run(deployed, deployed.workspace / "plan", destroy=True)
    assert set(actions(plan).values()) == {"delete"}
    assert apply.run(deployed, deployed.workspace / "plan").counts["remove"] == 3
    assert tfstate.read(deployed.workspace / "terraform.tfstate").resources == []


def test_a_moved_resource_is_said_with_its_old_address(deployed):
    root = changed(new={"input": "${var.size}"})
    del root["resource"]["terraform_data"]["one"]
    root["output"] = {"id": {"value": 1}}
    rewrite(deployed, {**root, "moved": [{"from": "terraform_data.one", "to": "terraform_data.new"}]})
    plan = planning.run(deployed, None)
    move = next(change for change in plan.changes if change["address"] == "terraform_data.new")
    assert (move["action"], move["moved_from"]) == ("move", "terraform_data.one")


def test_a_plan_is_refused_once_the_state_has_moved(deployed):
    rewrite(deployed, changed(one={"input": 2}))
    planning.run(deployed, deployed.workspace / "first")
    planning.run(deployed, deployed.workspace / "second")
    apply.run(deployed, deployed.workspace / "second")
    with pytest.raises(StalePlan):
        apply.run(deployed, deployed.workspace / "first")


def test_show_has_the_values_and_logs_none(session, tmp_path):
    planning.run(session, session.workspace / "plan")
    shown = show.run(session, session.workspace / "plan")
    assert shown["planned_values"]["outputs"]["secret"]["value"] == "hush-hush"
    assert "hush-hush" not in (tmp_path / "session.log").read_text()


def test_show_without_a_plan_is_the_state(deployed):
    assert show.run(deployed)["values"]["outputs"]["list"]["value"] == ["x", 1, None]


def test_taint_and_untaint(deployed):
    taint.run(deployed, "terraform_data.one")
    plan = planning.run(deployed, None)
    assert plan.changes[0]["action"] == "replace"
    assert plan.changes[0]["reason"] == "tainted"
    taint.run(deployed, "terraform_data.one", undo=True)
    assert not planning.run(deployed, None).changed


def test_state_show_mv_and_rm(deployed):
    assert 'resource "terraform_data" "one"' in state.show(deployed, "terraform_data.one")
    state.mv(deployed, 'terraform_data.many["ü"]', 'terraform_data.many["x"]')
    assert 'terraform_data.many["x"]' in listed(deployed)
    state.rm(deployed, "terraform_data.one")
    assert "terraform_data.one" not in listed(deployed)


def test_an_address_that_is_not_there_is_terraforms_own_error(deployed):
    with pytest.raises(TerraformError, match="No instance found for the given address"):
        state.show(deployed, "terraform_data.nowhere")
    with pytest.raises(TerraformError) as caught:
        taint.run(deployed, "terraform_data.nowhere")
    assert caught.value.diagnostics[0]["summary"] == "No such resource instance"
    assert "\x1b" not in str(caught.value)


def test_import_takes_in_what_exists(deployed):
    state.rm(deployed, "terraform_data.one")
    import_.run(deployed, "terraform_data.one", "some-id")
    assert "terraform_data.one" in listed(deployed)


def test_validate_says_where_and_why(session):
    assert validate.run(session) == validate.Validation(True, ())
    (session.workspace / "more.tf").write_text('output "x" {\n  value = terraform_data.nowhere.id\n}\n')
    found = validate.run(session)
    assert not found.valid
    (problem,) = found.errors
    assert (problem.severity, problem.where) == ("error", "more.tf:2")
    assert problem.summary == "Reference to undeclared resource"
    assert "nowhere" in problem.detail
    assert str(problem).startswith("more.tf:2: error: Reference to undeclared resource: ")


def test_a_file_that_can_not_be_parsed_is_a_finding_too(session):
    (session.workspace / "more.tf").write_text("resource {")
    assert not validate.run(session).valid


def test_fmt_names_the_files_and_leaves_them(session):
    (session.workspace / "good.tf").write_text("locals {\n  a = 1\n}\n")
    (session.workspace / "bad.tf").write_text("locals {\n b=1\n}\n")
    assert fmt.run(session, session.workspace) == ["bad.tf"]
    assert (session.workspace / "bad.tf").read_text() == "locals {\n b=1\n}\n"
    with pytest.raises(TerraformError):
        (session.workspace / "bad.tf").write_text("locals {")
        fmt.run(session, session.workspace)


def test_version_and_providers_of_a_workspace(session, binary):
    found = version.run(session)
    assert (found["product"], found["version"]) == (binary.product, binary.version)
    assert found["providers"] == {}
    assert providers.run(session) == {"terraform.io/builtin/terraform": []}


def test_an_error_carries_terraforms_words_its_place_and_ours(session):
    condition = {"condition": "${var.size > 5}", "error_message": "size must be above 5"}
    rewrite(session, changed(one={"lifecycle": {"precondition": [condition]}}))
    with pytest.raises(TerraformError, match="size must be above 5") as caught:
        planning.run(session, session.workspace / "plan")
    assert caught.value.diagnostics[0]["range"]["filename"] == "main.tf.json"
    assert not (session.workspace / "plan").exists()


def test_half_an_apply_says_what_it_did(session):
    broken = {"provisioner": [{"local-exec": {"command": "echo it broke >&2; exit 3"}}]}
    rewrite(session, changed(broken={**broken, "depends_on": ["terraform_data.one"]}))
    planning.run(session, session.workspace / "plan")
    with pytest.raises(TerraformError, match="it broke") as caught:
        apply.run(session, session.workspace / "plan")
    assert "terraform_data.one" in caught.value.data["applied"]
    assert "terraform_data.broken" not in caught.value.data["applied"]


def test_a_workspace_that_was_not_initialised_says_so(make_session, binary):
    session = make_session(binary, {"resource": {"aws_vpc": {"x": {"cidr_block": "10.0.0.0/8"}}}})
    with pytest.raises(TerraformError) as caught:
        planning.run(session, None)
    assert "initialised anew" in caught.value.fix


def test_drift_and_pending_changes_are_told_apart(make_session, binary, tmp_path):
    """A real file behind terraform's back would need a provider; a refreshed data source's output is drift enough."""
    root = {
        "data": {"terraform_remote_state": {"up": {"backend": "local", "config": {"path": "../up.tfstate"}}}},
        "output": {"seen": {"value": "${data.terraform_remote_state.up.outputs.x}"}},
    }
    upstream = {"version": 4, "serial": 1, "lineage": "u", "resources": [], "terraform_version": "1.6.0"}

    def set_upstream(value):
        text = json.dumps({**upstream, "outputs": {"x": {"value": value, "type": "string"}}})
        (tmp_path / "up.tfstate").write_text(text)

    set_upstream("one")
    session = make_session(binary, root)
    init.run(session)
    planning.run(session, session.workspace / "plan")
    apply.run(session, session.workspace / "plan")
    set_upstream("two")
    plan = planning.run(session, None, refresh_only=True)
    assert plan.changed
    assert plan.outputs["seen"]["action"] == "update"
