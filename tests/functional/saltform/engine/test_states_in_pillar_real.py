"""Backends in pillar: the same life of an environment with its states in S3, PostgreSQL and behind HTTP, for real."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass

import pytest
import requests

from saltform.config.backends import block
from saltform.credentials.aws import states_client
from saltform.engine.context import EnvironmentContext
from saltform.engine.work import ComponentWork
from tests.support.http_states import http_states
from tests.support.plain_terraform import PlainTerraform
from tests.support.planted import report, search_files
from tests.support.postgres import postgres
from tests.support.seaweedfs import s3_server
from tests.support.states_contract import state
from tests.support.world import World, statuses

KEYS = ("AKIASTATEACCOUNT0001", "secret/of+the/state+account/0123456789")
PASSWORD = "password-of-the-states"


@dataclass
class Server:
    """Where states are: what pillar says, and where its credentials come from."""

    backend: dict
    secret: str
    values: dict


@contextlib.contextmanager
def _s3(folder):
    with s3_server(folder, *KEYS, "states") as client:
        settings = {"bucket": "states", "region": "us-east-1", "endpoint": client.meta.endpoint_url}
        values = {"AWS_ACCESS_KEY_ID": KEYS[0], "AWS_SECRET_ACCESS_KEY": KEYS[1]}
        yield Server({"type": "s3", **settings}, KEYS[1], values)


@contextlib.contextmanager
def _pg(folder):
    with postgres() as database:
        database.sql(f"create role states login superuser password '{PASSWORD}'")
        joint = "&" if "?" in database.uri else "?"
        yield Server(
            {"type": "pg", "conn_str": f"{database.uri}{joint}sslmode=disable"},
            PASSWORD,
            {"PGUSER": "states", "PGPASSWORD": PASSWORD},
        )


@contextlib.contextmanager
def _http(folder):
    with http_states("states", PASSWORD) as server:
        address = f"{server.address}/{{environment}}/{{component}}"
        backend = {"type": "http", "address": address, "lock_address": address, "unlock_address": address}
        yield Server(backend, PASSWORD, {"TF_HTTP_USERNAME": "states", "TF_HTTP_PASSWORD": PASSWORD})


def _together(make, name):
    """One server for all tests on it, also when tests run in several processes."""
    return pytest.param(make, id=name, marks=pytest.mark.xdist_group(f"states in {name}"))


@pytest.fixture(scope="module", params=[_together(_s3, "s3"), _together(_pg, "pg"), _together(_http, "http")])
def server(request, tmp_path_factory):
    with request.param(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def world(tmp_path, server, monkeypatch):
    made = World(tmp_path)
    for name, value in server.values.items():
        monkeypatch.setenv(f"STATES_{name}", value)
    renamed = {"environment": {"map": {name: f"STATES_{name}" for name in server.values}}}
    backend = {**server.backend, "credentials": renamed}
    made.infrastructure = {"environments": {tmp_path.name: {"backend": backend, "components": made.components}}}
    made.name = tmp_path.name  # an environment of its own in the shared server
    made.components |= {
        "networking": {"module": "base", "variables": {"name": "net"}},
        "consul": {"module": "app", "inputs": {"base": "@networking.id", "password": "@networking.password"}},
    }
    return made


def call(world, verb, **options):
    return world.call(verb, world.name, options)


def test_an_environment_lives_there_and_no_key_is_in_a_file(world, server):
    checked = world.call("preflight", world.name, None)["checks"]
    kind = f"backend {server.backend['type']}"
    assert [item["detail"] for item in checked if item["check"] == kind] == ["reached, and nothing there yet"] * 2
    first = call(world, "deploy")
    assert statuses(first) == {"networking": "applied", "consul": "applied"}, first
    again = call(world, "deploy")
    assert statuses(again) == {"networking": "unchanged", "consul": "unchanged"}
    assert world.processes.started == []
    assert not list((world.state_dir / "states").rglob("*.tfstate"))
    assert world.call("status", world.name)["components"]["consul"]["status"] == "applied"
    found = search_files({"states": server.secret}, world.home)
    assert not found, report(found)

    world.components["networking"]["variables"]["name"] = "renamed"
    assert statuses(call(world, "plan"))["networking"] == "planned"
    changed = call(world, "deploy")
    assert statuses(changed)["networking"] == "applied"
    assert changed["outputs"]["networking"]["name"] == "renamed"
    del world.components["consul"]
    assert world.call("status", world.name)["orphans"] == ["consul"]
    assert call(world, "drift")["retcode"] == 0
    gone = call(world, "destroy", yes=True)
    assert gone["retcode"] == 0, gone
    assert set(statuses(gone).values()) == {"destroyed"}
    assert world.call("status", world.name)["components"]["networking"]["status"] == "never applied"


def place_of(world, name="networking"):
    services = world.services()
    with contextlib.closing(services):
        return services.runlog.components(world.name)[name].backend


def _killed(*_):
    raise RuntimeError("killed")


def test_a_state_moves_there_and_back_and_never_by_itself(world, server, monkeypatch):
    environment = world.infrastructure["environments"][world.name]
    backend = environment.pop("backend")
    assert call(world, "deploy")["retcode"] == 0
    environment["backend"] = backend
    refused = call(world, "deploy")
    error = refused["steps"]["networking"]["error"]
    assert error["fix"] == f"salt-run infrastructure.migrate_state {world.name} networking"
    assert error["detail"].startswith(f"it is in: local; pillar says: {backend['type']} ")
    assert world.processes.started == []
    assert world.call("status", world.name)["components"]["consul"]["status"] == "unreadable"

    tried = world.call("migrate_state", world.name, "networking", True)
    assert (tried["retcode"], statuses(tried)) == (2, {"networking": "planned"}), tried["steps"]
    assert call(world, "deploy")["retcode"] == 1
    with monkeypatch.context() as patch:  # killed between the move and its record
        patch.setattr(ComponentWork, "keep_record", _killed)
        assert world.call("migrate_state", world.name, "networking", None)["retcode"] == 1
    moved = world.call("migrate_state", world.name, "*", None)
    assert statuses(moved) == {"networking": "applied", "consul": "applied"}, moved
    assert statuses(world.call("migrate_state", world.name, "*", None)) == {
        "networking": "unchanged",
        "consul": "unchanged",
    }
    assert not list((world.state_dir / "states").rglob("terraform.tfstate"))
    assert len(list((world.state_dir / "moved-states").rglob("*.tfstate"))) == 3
    again = call(world, "deploy")
    assert set(statuses(again).values()) == {"unchanged"}, again
    found = search_files({"states": server.secret}, world.home)
    assert not found, report(found)

    del environment["backend"]
    assert call(world, "deploy")["retcode"] == 1
    back = world.call("migrate_state", world.name, "*", None)
    assert statuses(back) == {"networking": "applied", "consul": "applied"}, back
    assert any("is still in" in note for note in back["notes"])
    assert set(statuses(call(world, "deploy")).values()) == {"unchanged"}
    assert place_of(world) == ""


def test_a_renamed_component_keeps_its_state_and_a_failed_run_goes_on_or_back(world, tmp_path):
    world.components.pop("consul")
    assert call(world, "deploy")["retcode"] == 0
    world.components["net"] = {**world.components.pop("networking"), "renamed_from": "networking"}
    planned = call(world, "plan")
    assert planned["steps"]["net"]["add"] == 0, planned
    assert "networking is now net" in str(call(world, "deploy")["notes"])
    assert statuses(call(world, "deploy")) == {"net": "unchanged"}

    world.components["late"] = {
        "module": "shell",
        "variables": {"command": f"test -e {tmp_path}/flag"},
        "needs": ["net"],
    }
    failed = call(world, "deploy")
    assert statuses(failed) == {"net": "unchanged", "late": "failed"}
    assert any("no earlier versions of states are kept in" in note for note in failed["notes"])
    assert world.call("migrate_state", world.name, "late", None)["retcode"] == 0  # it is where pillar says
    (tmp_path / "flag").touch()
    assert statuses(world.call("resume", None))["late"] == "applied"

    (tmp_path / "flag").unlink()
    world.components["net"]["variables"]["name"] = "other"
    world.components["never"] = {**world.components["late"], "variables": {"command": "false"}}
    undone = call(world, "deploy", on_error="rollback")
    assert undone["rollback"]["retcode"] == 0, undone
    assert world.call("outputs", world.name, "net")["outputs"]["net"]["name"] == "net"


@pytest.mark.parametrize("server", [_together(_http, "http")], indirect=True)
def test_what_only_terraform_can_read_is_pulled_and_then_known(world, server, monkeypatch):
    monkeypatch.setattr("saltform.engine.states._readable", lambda _backend: False)
    world.module("plain", 'resource "terraform_data" "this" {\n  input = "x"\n}\noutput "id" { value = 1 }\n')
    world.components.clear()
    world.components |= {"one": {"module": "plain"}, "two": {"module": "base", "variables": {"name": "two"}}}
    assert statuses(call(world, "deploy")) == {"one": "applied", "two": "applied"}
    world.components["two"]["variables"]["name"] = "2"
    assert statuses(call(world, "deploy")) == {"one": "unchanged", "two": "applied"}
    world.components["new"] = {**world.components.pop("one"), "renamed_from": "one"}
    assert call(world, "plan")["steps"]["new"]["add"] == 0
    world.components["one"] = {"module": world.components.pop("new")["module"]}
    assert world.call("outputs", world.name, "two")["outputs"]["two"]["name"] == "2"
    del world.components["two"]
    call(world, "deploy")
    assert world.processes.started == []
    assert world.call("sync_states", world.name)["components"]["one"]["status"] == "in step"
    assert statuses(call(world, "destroy", yes=True)) == {"one": "destroyed", "two": "destroyed"}


@pytest.fixture
def existing(world, server, tmp_path):
    """A root of somebody else with its state where `networking` has its own."""
    services = world.services()
    with contextlib.closing(services):
        backend = EnvironmentContext(services, world.name).component("networking").backend
    tree = {name: value for name, value in block(backend, "1.11.4").items() if name != "profile"}
    volume = {"terraform_data": {"volume": {"input": "data of years"}}}
    folder = tmp_path / "existing"
    (folder / "mirror").mkdir(parents=True)
    (folder / "main.tf.json").write_text(
        json.dumps({"terraform": {"backend": {backend.type: tree}}, "resource": volume})
    )
    return PlainTerraform(folder, folder / "cache", str(folder / "mirror"), server.values)


def assert_refused(world, existing):
    """By whatever plans or destroys; and the other root still has what it had."""
    for verb in ("plan", "deploy", "destroy"):
        returned = call(world, verb, components="networking", only=True, yes=True)
        error = returned["steps"]["networking"]["error"]
        assert error["summary"] == f"the state of {world.name}/networking is not one that Saltform wrote"
        assert "terraform_data.volume" in error["detail"]
        assert not {"plan", "apply"} & set(world.processes.commands())
    assert existing.plan() == {}


def test_the_state_of_another_root_is_refused(world, existing):
    existing.init()
    existing.apply()
    assert_refused(world, existing)
    refused = call(world, "deploy")["steps"]["networking"]["error"]
    assert refused["fix"].startswith("leave it to the root that made it, and name a place of its own at ")
    failed = [item for item in world.call("preflight", world.name, "networking")["checks"] if not item["ok"]]
    assert [item["detail"] for item in failed] == [f"{refused['summary']}: {refused['detail']}"]


@pytest.mark.parametrize("server", [_together(_http, "http")], indirect=True)
def test_another_roots_state_in_the_place_of_ours_is_seen_where_only_terraform_can_read(
    world, server, existing, monkeypatch
):
    monkeypatch.setattr("saltform.engine.states._readable", lambda _backend: False)
    assert call(world, "deploy", components="networking")["retcode"] == 0
    address = server.backend["address"].format(environment=world.name, component="networking")
    requests.post(address, data=b"", auth=tuple(server.values.values()), timeout=30).raise_for_status()
    existing.init()
    existing.apply()
    world.components["networking"]["variables"]["name"] = "changed"
    assert_refused(world, existing)


@pytest.mark.parametrize("server", [_together(_http, "http")], indirect=True)
def test_nothing_is_moved_that_is_locked_or_half_done_and_no_other_state_is_overwritten(world, server):
    environment = world.infrastructure["environments"][world.name]
    backend = environment.pop("backend")
    world.components["half"] = {"module": "shell", "variables": {"command": "false"}}
    assert call(world, "deploy", on_error="continue")["retcode"] == 1
    environment["backend"] = backend

    def refusal(name):
        returned = world.call("migrate_state", world.name, name, None)
        return returned["retcode"], returned["steps"][name]["error"]["summary"]

    assert refusal("half") == (1, "half is half done")
    services = world.services()
    with contextlib.closing(services), services.locks.hold(world.name, "networking", "another-run", "bob"):
        assert refusal("networking")[0] == 75
    address = backend["address"].format(environment=world.name, component="networking")
    login = (server.values["TF_HTTP_USERNAME"], server.values["TF_HTTP_PASSWORD"])
    requests.post(address, data=state(serial=7), auth=login, timeout=30)
    assert refusal("networking") == (1, "there is another state where this one should go")
    assert requests.get(address, auth=login, timeout=30).content == state(serial=7)
    assert (world.state_dir / "states" / world.name / "networking" / "terraform.tfstate").exists()


@pytest.mark.parametrize("server", [_together(_s3, "s3")], indirect=True)
def test_a_state_that_somebody_deleted_is_not_built_a_second_time(world, server):
    assert call(world, "deploy")["retcode"] == 0
    client = states_client(server.backend, server.values)
    with contextlib.closing(client):
        client.delete_object(Bucket="states", Key=f"{world.name}/networking/terraform.tfstate")
    error = call(world, "deploy")["steps"]["networking"]["error"]
    assert error["summary"] == "the state of networking is gone"
    assert "apply" not in world.processes.commands()
