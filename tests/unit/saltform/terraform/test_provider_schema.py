"""Which attributes a provider computes, from `terraform providers schema -json`."""

from __future__ import annotations

from saltform.terraform import schema

BLOCK = {
    "attributes": {
        "arn": {"type": "string", "computed": True},
        "size": {"type": "number", "optional": True},
        "either": {"type": "string", "optional": True, "computed": True},
        "nested": {"nested_type": {"attributes": {"id": {"computed": True}, "name": {"required": True}}}},
    },
    "block_types": {"disk": {"nesting_mode": "list", "block": {"attributes": {"serial": {"computed": True}}}}},
}


def test_computed_attributes_are_named_with_the_blocks_they_are_in(monkeypatch):
    document = {"provider_schemas": {"aws": {"resource_schemas": {"aws_x": {"block": BLOCK}}}, "terraform.io/b": {}}}
    monkeypatch.setattr(schema, "run_json", lambda session, argv: document)
    assert schema.run(None) == {"aws_x": ["arn", "disk.serial", "either", "nested.id"]}
