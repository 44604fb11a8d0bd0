"""What happens to every request, whatever its action: dry runs, client tokens, unknown things, faults, logs."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError, ConnectionClosedError, ReadTimeoutError

from hive_emulator.testing import RunningHive, running_emulator

ONCE = Config(retries={"total_max_attempts": 1})


@pytest.fixture(scope="module")
def hive() -> Iterator[RunningHive]:
    with running_emulator() as running:
        yield running


@pytest.fixture
def ec2(hive: RunningHive) -> Any:
    return hive.client("ec2", config=ONCE)


@pytest.fixture
def faults(hive: RunningHive) -> Iterator[Any]:
    yield lambda *faults: admin(hive, "PUT", "/_hive/faults", list(faults))
    admin(hive, "DELETE", "/_hive/faults")


def admin(hive: RunningHive, method: str, path: str, body: Any = None, token: str | None = None) -> Any:
    token = token or (hive.data_dir / "admin-token").read_text().strip()
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(hive.endpoint + path, data, {"Authorization": f"Bearer {token}"}, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def refused(call, *args, **kwargs) -> tuple[str, int]:
    with pytest.raises(ClientError) as caught:
        call(*args, **kwargs)
    response = caught.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def raw(hive: RunningHive, body: str, service: str = "ec2", method: str = "POST") -> tuple[int, str]:
    """A signed request with any body; for GET the body is the query."""
    url = hive.endpoint + "/" + (f"?{body}" if method == "GET" else "")
    request = AWSRequest(method, url, data=body if method == "POST" else "")
    SigV4Auth(Credentials(hive.access_key, hive.secret_key), service, hive.region).add_auth(request)
    sent = urllib.request.Request(url, request.data.encode() or None, dict(request.headers), method=method)
    try:
        with urllib.request.urlopen(sent) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


# --- actions and versions ---


def test_an_action_may_be_in_the_query_string(hive: RunningHive) -> None:
    status, text = raw(hive, "Action=DescribeRegions&Version=2016-11-15", method="GET")
    assert status == 200
    assert "<DescribeRegionsResponse" in text


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ("Action=MakeCoffee&Version=2016-11-15", "InvalidAction", "MakeCoffee"),
        ("Version=2016-11-15", "MissingAction", "Action"),
        ("", "MissingAction", "Action"),
        ("Action=DescribeVpcs&Version=1999-01-01", "NoSuchVersion", "1999-01-01"),
        ("Action=DescribeVpcs&Colour=red", "UnknownParameter", "Colour"),
        ("Action=DescribeVpcs&Filter.1.Name=colour&Filter.1.Value.1=red", "InvalidParameterValue", "colour"),
        ("Action=DescribeVpcs&VpcId.1=%zz", "MalformedQueryString", "%"),
    ],
)
def test_what_is_unknown_names_itself(hive: RunningHive, body: str, code: str, words: str) -> None:
    status, text = raw(hive, body)
    assert status == 400
    assert f"<Code>{code}</Code>" in text
    assert words in text


def test_an_action_of_another_service_is_invalid(hive: RunningHive) -> None:
    status, text = raw(hive, "Action=DescribeVpcs&Version=2011-06-15", service="sts")
    assert (status, "<ErrorResponse><Error><Type>Sender</Type><Code>InvalidAction</Code>" in text) == (400, True)


# --- dry runs and client tokens ---


def test_a_dry_run_does_nothing_and_says_that_it_would_have_worked(ec2: Any) -> None:
    before = ec2.describe_vpcs()["Vpcs"]
    assert refused(ec2.create_vpc, CidrBlock="10.9.0.0/16", DryRun=True) == ("DryRunOperation", 412)
    assert ec2.describe_vpcs()["Vpcs"] == before


def test_a_dry_run_of_what_would_fail_says_how(ec2: Any) -> None:
    assert refused(ec2.delete_vpc, VpcId="vpc-0123456789abcdef0", DryRun=True) == ("InvalidVpcID.NotFound", 400)


def test_the_same_token_gives_the_same_volume_and_other_parameters_are_refused(ec2: Any) -> None:
    wanted = {"AvailabilityZone": "ap-southeast-2a", "Size": 3, "ClientToken": "token-1"}
    first = ec2.create_volume(**wanted)
    assert ec2.create_volume(**wanted)["VolumeId"] == first["VolumeId"]
    for dry in (False, True):
        other = {**wanted, "Size": 4, "DryRun": dry}
        assert refused(ec2.create_volume, **other) == ("IdempotentParameterMismatch", 400)
    assert refused(ec2.create_volume, **wanted, DryRun=True) == ("DryRunOperation", 412)
    assert ec2.create_volume(**{**wanted, "ClientToken": "token-2"})["VolumeId"] != first["VolumeId"]


def test_a_token_sent_by_many_at_once_makes_one_volume(hive: RunningHive, ec2: Any) -> None:
    def make(_: int) -> str:
        return ec2.create_volume(AvailabilityZone="ap-southeast-2a", Size=1, ClientToken="at-once")["VolumeId"]

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(make, range(16)))) == 1


def test_a_token_is_still_known_after_a_restart(tmp_path: Path) -> None:
    found = []
    for _ in range(2):
        with running_emulator(tmp_path, store="embedded") as hive:
            made = hive.client("ec2").create_volume(AvailabilityZone="ap-southeast-2a", Size=1, ClientToken="t")
            found.append(made["VolumeId"])
    assert found[0] == found[1]


# --- faults ---


def test_no_fault_is_played_unless_asked_for(hive: RunningHive) -> None:
    assert admin(hive, "GET", "/_hive/faults") == []


def test_an_error_for_an_action_so_many_times(ec2: Any, faults: Any) -> None:
    faults({"action": "CreateVpc", "error": "VpcLimitExceeded", "message": "too many", "times": 2})
    for _ in range(2):
        assert refused(ec2.create_vpc, CidrBlock="10.0.0.0/16") == ("VpcLimitExceeded", 400)
    assert ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    assert ec2.describe_vpcs()["Vpcs"]


def test_throttling_is_what_boto3_retries(hive: RunningHive, ec2: Any, faults: Any) -> None:
    faults({"action": "Describe*", "throttle": True, "times": 2})
    assert refused(ec2.describe_vpcs) == ("RequestLimitExceeded", 503)
    answer = hive.client("ec2").describe_vpcs()
    assert answer["ResponseMetadata"]["RetryAttempts"] == 1


def test_latency(ec2: Any, faults: Any) -> None:
    faults({"action": "DescribeVpcs", "latency_ms": 300})
    start = time.monotonic()
    ec2.describe_vpcs()
    assert time.monotonic() - start >= 0.3


def test_a_hang_lasts_until_the_client_gives_up_and_holds_up_nobody_else(
    hive: RunningHive, ec2: Any, faults: Any
) -> None:
    faults({"action": "DescribeVpcs", "hang": True, "times": 1})
    impatient = hive.client("ec2", config=ONCE.merge(Config(read_timeout=1)))
    with pytest.raises(ReadTimeoutError):
        impatient.describe_vpcs()
    assert ec2.describe_vpcs()["Vpcs"]


def test_a_connection_dropped_after_the_work_is_done(ec2: Any, faults: Any) -> None:
    faults({"action": "CreateVpc", "drop": True, "after": True, "times": 1})
    before = len(ec2.describe_vpcs()["Vpcs"])
    with pytest.raises(ConnectionClosedError):
        ec2.create_vpc(CidrBlock="10.0.0.0/16")
    assert len(ec2.describe_vpcs()["Vpcs"]) == before + 1


def test_a_connection_dropped_before_the_work_is_done(ec2: Any, faults: Any) -> None:
    faults({"action": "CreateVpc", "drop": True, "times": 1})
    before = len(ec2.describe_vpcs()["Vpcs"])
    with pytest.raises(ConnectionClosedError):
        ec2.create_vpc(CidrBlock="10.0.0.0/16")
    assert len(ec2.describe_vpcs()["Vpcs"]) == before


def test_what_was_just_created_is_not_seen_for_a_while(ec2: Any, faults: Any) -> None:
    faults({"action": "Describe*", "stale_ms": 3_600_000})
    made = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    assert refused(ec2.describe_vpcs, VpcIds=[made]) == ("InvalidVpcID.NotFound", 400)
    assert made not in [vpc["VpcId"] for vpc in ec2.describe_vpcs()["Vpcs"]]
    faults({"action": "Describe*", "stale_ms": 1})
    assert ec2.describe_vpcs(VpcIds=[made])["Vpcs"][0]["VpcId"] == made


def test_what_changes_something_sees_all_of_it_whatever_a_describe_sees(ec2: Any, faults: Any) -> None:
    faults({"action": "*", "stale_ms": 3_600_000})
    wanted = {"AvailabilityZone": "ap-southeast-2a", "Size": 3, "ClientToken": "just-made"}
    made = ec2.create_volume(**wanted)["VolumeId"]
    assert ec2.create_volume(**wanted)["VolumeId"] == made
    assert ec2.delete_volume(VolumeId=made)["ResponseMetadata"]["HTTPStatusCode"] == 200


def test_what_is_there_from_the_start_is_seen_at_once(hive: RunningHive, faults: Any) -> None:
    faults({"action": "Describe*", "stale_ms": 3_600_000})
    fresh = hive.client("ec2", region="eu-north-1")
    assert [vpc["IsDefault"] for vpc in fresh.describe_vpcs()["Vpcs"]] == [True]


def test_a_chance_of_none_never_strikes(ec2: Any, faults: Any) -> None:
    faults({"action": "*", "error": "InternalError", "chance": 0})
    assert ec2.describe_vpcs()["Vpcs"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"action": "CreateVpc"}, "expected a list of faults"),
        ([{"error": "X"}], "expected an object with an action"),
        ([{"action": "CreateVpc", "eror": "Y"}], "'eror' is not known"),
        ([{"action": "CreateVpc", "latency_ms": "soon"}], "latency_ms is 'soon', expected float"),
    ],
)
def test_a_fault_that_can_not_be_read_is_explained(hive: RunningHive, given: Any, words: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        admin(hive, "PUT", "/_hive/faults", given)
    with caught.value as answer:
        assert answer.code == 400
        assert words in json.load(answer)["error"]


def test_faults_can_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "faults.json").write_text('[{"action": "DescribeVpcs", "error": "Out", "status": 500}]')
    with running_emulator(tmp_path, options=["--faults", str(tmp_path / "faults.json")]) as hive:
        assert refused(hive.client("ec2", config=ONCE).describe_vpcs) == ("Out", 500)


# --- beside AWS ---


def test_admin_calls_need_the_token(hive: RunningHive) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        admin(hive, "GET", "/_hive/faults", token="wrong")
    with caught.value as answer:
        assert answer.code == 403


def test_capacity_and_quotas_can_be_set_while_it_runs(hive: RunningHive) -> None:
    try:
        admin(hive, "PUT", "/_hive/limits", {"capacity": {"t3.micro": 0}})
        assert admin(hive, "GET", "/_hive/limits") == {"capacity": {"t3.micro": 0}, "quotas": {}}
        ec2 = hive.client("ec2", config=ONCE)
        image = ec2.describe_images(Filters=[{"Name": "name", "Values": ["*debian-12*amd64*"]}])["Images"][0]
        wanted = {"ImageId": image["ImageId"], "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1}
        assert refused(ec2.run_instances, **wanted)[0] == "InsufficientInstanceCapacity"
    finally:
        admin(hive, "PUT", "/_hive/limits", {"capacity": {}})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"quotas": {"vpc": 5}}, "'vpc' is not known; did you mean vpcs?"),
        ({"capacity": {"t3.micro": -1}}, "t3.micro is -1, expected a whole number, 0 or more"),
        ({"quota": {"vpcs": 5}}, "expected"),
        ([], "expected"),
    ],
)
def test_limits_that_can_not_be_read_are_explained_and_change_nothing(
    hive: RunningHive, given: Any, words: str
) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        admin(hive, "PUT", "/_hive/limits", given)
    with caught.value as answer:
        assert answer.code == 400
        assert words in json.load(answer)["error"]
    assert admin(hive, "GET", "/_hive/limits") == {"capacity": {}, "quotas": {}}


def test_health_answers_without_a_key(hive: RunningHive) -> None:
    with urllib.request.urlopen(hive.endpoint + "/health") as answer:
        assert json.load(answer)["status"] == "ok"


def test_metrics_count_requests_by_action_and_code(hive: RunningHive, ec2: Any) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    ec2.describe_regions()
    refused(ec2.describe_vpcs, VpcIds=["vpc-0123456789abcdef0"])
    with urllib.request.urlopen(hive.endpoint + "/metrics") as answer:
        families = {family.name: family for family in text_string_to_metric_families(answer.read().decode())}
    counted = {(s.labels["action"], s.labels["code"]): s.value for s in families["hive_requests"].samples}
    assert counted["DescribeRegions", "OK"] >= 1
    assert counted["DescribeVpcs", "InvalidVpcID.NotFound"] >= 1
    assert {s.labels["kind"] for s in families["hive_store_records"].samples} >= {"vpc", "subnet"}
    times = [s for s in families["hive_request_seconds"].samples if s.labels.get("action") == "DescribeRegions"]
    assert {s.name for s in times} >= {"hive_request_seconds_bucket", "hive_request_seconds_count"}


def test_the_access_log_tells_what_happened_and_no_secret(tmp_path: Path) -> None:
    with running_emulator(tmp_path) as hive:
        hive.client("ec2").create_key_pair(KeyName="my-key")
        url = hive.client("ec2").generate_presigned_url("describe_vpcs", HttpMethod="GET")
        urllib.request.urlopen(url).close()
        refused(hive.client("ec2", secret_key="a-wrong-secret").describe_vpcs)
        token = (tmp_path / "admin-token").read_text().strip()
        admin(hive, "GET", "/_hive/status")
        with pytest.raises(urllib.error.HTTPError):
            admin(hive, "GET", "/_hive/nothing")
        secrets = [hive.secret_key, "a-wrong-secret", token, "Signature=", "PRIVATE KEY", "AWS4-HMAC"]
        secrets.append(url.rpartition("X-Amz-Signature=")[2])
    text = (tmp_path / "log").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    seen = [(line["service"], line["action"], line["status"], line["code"]) for line in lines]
    assert seen == [
        ("ec2", "CreateKeyPair", 200, "OK"),
        ("ec2", "DescribeVpcs", 200, "OK"),
        ("ec2", "unknown", 403, "SignatureDoesNotMatch"),
        ("hive", "GET /_hive/status", 200, "OK"),
        ("hive", "GET /_hive/nothing", 404, "Refused"),
    ]
    assert lines[0]["account"] == "000000000001"
    assert not [secret for secret in secrets if secret in text]
