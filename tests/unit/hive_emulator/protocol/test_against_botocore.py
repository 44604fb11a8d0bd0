"""Both ways with botocore, for every action: values are generated from the model, never written by hand.

In: botocore's serialiser writes a request, our parser must give back the same parameters. Out: our serialiser
writes an answer, botocore's parser must give back the same members.
"""

from __future__ import annotations

import json
import string
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import pytest
from botocore.model import OperationModel, ServiceModel, Shape
from botocore.parsers import create_parser
from botocore.serialize import create_serializer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hive_emulator.protocol import json_rpc, parse, trim
from hive_emulator.protocol.model import operation, services

DEEPEST = 5
ACTIONS = [(service, name) for service, model in services().items() for name in model["operations"]]
TIMES = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)).map(
    lambda when: when.replace(microsecond=0, tzinfo=timezone.utc)
)
# Whatever XML can carry, line ends and markup included.
TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
    | st.sampled_from("\r\n\t<&>\"'%+=."),
    min_size=1,
    max_size=12,
)
quick = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@lru_cache
def model(service: str) -> ServiceModel:
    """The shipped model in botocore's hands: another test holds it to botocore's own."""
    shipped = json.loads(trim.MODEL.read_text(encoding="utf-8"))[service]
    for name, parts in shipped["operations"].items():
        parts.update(name=name, http={"method": "POST", "requestUri": "/"})
    return ServiceModel(shipped, service)


def values(shape: Shape, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values of a shape, never empty ones: those count as absent in a request."""
    kind = shape.type_name
    if kind == "structure":
        return structures(shape, depth)
    if kind == "list":
        return st.lists(values(shape.member, depth + 1), min_size=1, max_size=3)
    if kind == "string":
        return st.sampled_from(shape.enum) if getattr(shape, "enum", None) else TEXTS
    return {
        "integer": st.integers(-(2**31), 2**31 - 1),
        "long": st.integers(-(2**63), 2**63 - 1),
        "float": st.floats(-1e9, 1e9, width=32),
        "double": st.floats(-1e9, 1e9),
        "boolean": st.booleans(),
        "timestamp": TIMES,
        "blob": st.binary(min_size=1, max_size=30),
    }[kind]


def structures(shape: Shape, depth: int) -> st.SearchStrategy[dict[str, Any]]:
    members = {
        name: member
        for name, member in shape.members.items()
        if depth < DEEPEST or member.type_name not in ("structure", "list")
    }
    if not members:
        return st.just({})
    required = set(shape.required_members)

    @st.composite
    def some(draw: st.DrawFn) -> dict[str, Any]:
        most = min(len(members), 6 if depth == 0 else 3)
        names = draw(st.sets(st.sampled_from(sorted(members)), min_size=1, max_size=most))
        return {name: draw(values(members[name], depth + 1)) for name in sorted(names | required)}

    return some()


def without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {name: without_empty(member) for name, member in value.items()}
        return {name: member for name, member in kept.items() if member not in ({}, [])}
    return [without_empty(item) for item in value] if isinstance(value, list) else value


def has_hole(value: Any) -> bool:
    """A list entry without members can't be written in a query string at all."""
    if isinstance(value, dict):
        return any(has_hole(member) for member in value.values())
    return isinstance(value, list) and any(item == {} or has_hole(item) for item in value)


def sent_by_botocore(service: str, action: OperationModel, params: dict[str, Any]) -> bytes:
    protocol = action.service_model.metadata["protocol"]
    request = create_serializer(protocol, include_validation=False).serialize_to_request(params, action)
    if protocol == "json":
        return request["body"]
    return urlencode(request["body"]).encode()


@pytest.mark.parametrize(("service", "name"), ACTIONS, ids=[f"{s}-{n}" for s, n in ACTIONS])
def test_what_botocore_sends_is_parsed_back(service: str, name: str) -> None:
    action = model(service).operation_model(name)
    if action.input_shape is None or not action.input_shape.members:
        body = sent_by_botocore(service, action, {})
        assert operation(service, name).parse(fields_of(body)) == {}
        return

    @quick
    @given(values(action.input_shape))
    def check(params: dict[str, Any]) -> None:
        params = without_empty(params)
        if not has_hole(params) and not _lacks_required(action.input_shape, params):
            assert operation(service, name).parse(fields_of(sent_by_botocore(service, action, params))) == params

    check()


def _lacks_required(shape: Shape, params: dict[str, Any]) -> bool:
    """Cutting off at the deepest level may have emptied a required structure."""
    if shape.type_name == "list":
        return any(_lacks_required(shape.member, item) for item in params)
    if shape.type_name != "structure":
        return False
    missing = any(name not in params for name in shape.required_members)
    return missing or any(_lacks_required(shape.members[name], value) for name, value in params.items())


def fields_of(body: bytes) -> dict[str, Any]:
    if body.startswith(b"{"):
        return json_rpc.document(body)
    given = parse.fields(body)
    assert given.pop("Action")
    assert given.pop("Version")
    return given


@pytest.mark.parametrize(("service", "name"), ACTIONS, ids=[f"{s}-{n}" for s, n in ACTIONS])
def test_botocore_reads_the_answer_that_was_written(service: str, name: str) -> None:
    action = model(service).operation_model(name)
    parser = create_parser(action.service_model.metadata["protocol"])

    def read(xml: str) -> dict[str, Any]:
        headers = {"x-amzn-requestid": "the-request-id"} if xml.startswith("{") else {}  # XML has it in the text
        response = {"status_code": 200, "headers": headers, "body": xml.encode()}
        parsed = parser.parse(response, action.output_shape)
        assert parsed.pop("ResponseMetadata")["RequestId"] == "the-request-id"
        return parsed

    if action.output_shape is None:
        assert read(operation(service, name).serialise({}, "the-request-id")) == {}
        return

    @quick
    @given(values(action.output_shape))
    def check(answer: dict[str, Any]) -> None:
        assert read(operation(service, name).serialise(answer, "the-request-id")) == answer

    check()


def test_every_printable_character_survives_both_ways() -> None:
    text = string.printable.replace("\x0b", "").replace("\x0c", "") + "äß€😀\u2028"
    action = model("ec2").operation_model("CreateSecurityGroup")
    params = {"GroupName": text, "Description": text}
    assert operation("ec2", "CreateSecurityGroup").parse(fields_of(sent_by_botocore("ec2", action, params))) == params
