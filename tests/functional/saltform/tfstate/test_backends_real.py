"""What Terraform's own backends store is what our readers read: real Terraform, S3 and PostgreSQL."""

from __future__ import annotations

import json

import psycopg
import pytest

from saltform.tfstate.pg import PgStates
from saltform.tfstate.s3 import S3States
from tests.support.plain_terraform import PlainTerraform
from tests.support.postgres import postgres
from tests.support.seaweedfs import s3_server

KEY, SCHEMA = "staging/net/terraform.tfstate", "staging.net"
KEYS = ("AKIASTATEACCOUNT0001", "secret/of+the/state+account/0123456789")


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    with s3_server(tmp_path_factory.mktemp("s3"), *KEYS, "states") as client:
        skipped = ("skip_credentials_validation", "skip_requesting_account_id", "skip_region_validation")
        backend = {
            "bucket": "states",
            "key": KEY,
            "region": "us-east-1",
            "endpoints": {"s3": client.meta.endpoint_url},
            "use_path_style": True,
            "access_key": KEYS[0],
            "secret_key": KEYS[1],
            **dict.fromkeys(skipped, True),
        }
        yield "s3", backend, S3States(client, "states", "{}/{}/terraform.tfstate".format)


@pytest.fixture(scope="module")
def pg():
    with postgres() as database:
        address = database.uri + ("&" if "?" in database.uri else "?") + "sslmode=disable"
        reader = PgStates(lambda: psycopg.connect(database.uri, autocommit=True), lambda *where: ".".join(where))
        yield "pg", {"conn_str": address, "schema_name": SCHEMA}, reader
        reader.close()


@pytest.mark.parametrize("place", ["s3", "pg"])
def test_what_terraform_stores_is_read_and_every_apply_is_seen(place, request, tmp_path):
    kind, backend, reader = request.getfixturevalue(place)
    assert reader.read("staging", "net") is None
    folder, mirror = tmp_path / "root", tmp_path / "mirror"
    folder.mkdir()
    mirror.mkdir()
    terraform = PlainTerraform(folder, tmp_path / "cache", str(mirror))

    def apply(value):
        tree = {
            "terraform": {"backend": {kind: backend}},
            "resource": {"terraform_data": {"this": {"input": value}}},
            "output": {"name": {"value": "${terraform_data.this.output}"}},
        }
        (folder / "main.tf.json").write_text(json.dumps(tree))
        terraform.apply()

    (folder / "main.tf.json").write_text(json.dumps({"terraform": {"backend": {kind: backend}}}))
    terraform.init()
    apply("one")
    first = reader.read("staging", "net")
    assert (first.outputs["name"].value, first.resources) == ("one", ["terraform_data.this"])
    mark = reader.marks("staging", ["net", "other"])
    assert list(mark) == ["net"]
    apply("two")
    assert reader.marks("staging", ["net"]) != mark
    second = reader.read_many("staging", ["net"])["net"]
    assert second.outputs["name"].value == "two"
    assert second.serial > first.serial
    assert second.lineage == first.lineage
