"""Who may ask: keys, signatures, accounts and regions, with real clients over real connections."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from hive_emulator.testing import RunningHive, running_emulator

OTHER_ACCOUNT = """
[second]
aws_access_key_id = AKIASECOND
aws_secret_access_key = second-secret
hive_account = 000000000002
"""


@pytest.fixture(scope="module")
def hive() -> Iterator[RunningHive]:
    with running_emulator() as running:
        yield running


def refused(call, *args, **kwargs) -> tuple[str, int]:
    with pytest.raises(ClientError) as caught:
        call(*args, **kwargs)
    response = caught.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def test_the_key_in_the_data_folder_opens_its_account(hive: RunningHive) -> None:
    identity = hive.client("sts").get_caller_identity()
    assert identity["Account"] == "000000000001"
    assert identity["Arn"] == "arn:aws:iam::000000000001:root"


def test_wrong_secrets_and_unknown_keys_get_awss_codes(hive: RunningHive) -> None:
    for service, call in (("ec2", "describe_vpcs"), ("sts", "get_caller_identity"), ("iam", "list_roles")):
        wrong = hive.client(service, secret_key="not the secret")
        assert refused(getattr(wrong, call)) == ("SignatureDoesNotMatch", 403)
        unknown = hive.client(service, access_key="AKIANOBODY")
        expected = ("AuthFailure", 401) if service == "ec2" else ("InvalidClientTokenId", 403)
        assert refused(getattr(unknown, call)) == expected


def test_a_session_token_that_nobody_gave_out_is_refused(hive: RunningHive) -> None:
    with_token = {
        "aws_access_key_id": hive.access_key,
        "aws_secret_access_key": hive.secret_key,
        "aws_session_token": "made up",
    }
    assert refused(hive.client("ec2", **with_token).describe_vpcs) == ("AuthFailure", 401)
    assert refused(hive.client("sts", **with_token).get_caller_identity) == ("InvalidClientTokenId", 403)
    url = hive.client("sts").generate_presigned_url("get_caller_identity", HttpMethod="GET")
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(url + "&X-Amz-Security-Token=made%20up")
    caught.value.close()


def test_an_unsigned_request_is_told_so(hive: RunningHive) -> None:
    request = urllib.request.Request(hive.endpoint, b"Action=DescribeVpcs&Version=2016-11-15")
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)
    with caught.value as answer:
        assert answer.status == 403
        assert b"<Code>MissingAuthenticationToken</Code>" in answer.read()


def test_a_presigned_url_works_without_any_header(hive: RunningHive) -> None:
    url = hive.client("sts").generate_presigned_url("get_caller_identity", HttpMethod="GET")
    with urllib.request.urlopen(url) as answer:
        assert b"<Account>000000000001</Account>" in answer.read()
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(url.replace("GetCallerIdentity", "GetSessionToken"))
    caught.value.close()


def test_repeated_failures_are_slowed_down_and_the_right_key_is_not(hive: RunningHive) -> None:
    from botocore.config import Config

    guesser = hive.client("ec2", access_key="AKIAGUESS", config=Config(retries={"total_max_attempts": 1}))
    times = []
    for _ in range(9):
        start = time.monotonic()
        refused(guesser.describe_vpcs)
        times.append(time.monotonic() - start)
    assert times[-1] > 0.4
    assert hive.client("sts").get_caller_identity()["Account"] == "000000000001"


def test_accounts_and_regions_have_clouds_of_their_own(tmp_path: Path) -> None:
    with running_emulator(tmp_path):
        pass
    with (tmp_path / "credentials").open("a") as file:
        file.write(OTHER_ACCOUNT)
    with running_emulator(tmp_path) as hive:
        second = {"access_key": "AKIASECOND", "secret_key": "second-secret"}
        assert hive.client("sts", **second).get_caller_identity()["Account"] == "000000000002"
        made = hive.client("ec2").create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        for elsewhere in (hive.client("ec2", **second), hive.client("ec2", region="eu-west-1")):
            assert made not in [vpc["VpcId"] for vpc in elsewhere.describe_vpcs()["Vpcs"]]
            assert refused(elsewhere.describe_vpcs, VpcIds=[made]) == ("InvalidVpcID.NotFound", 400)
        zones = hive.client("ec2", region="eu-west-1").describe_availability_zones()["AvailabilityZones"]
        assert [zone["ZoneName"] for zone in zones] == ["eu-west-1a", "eu-west-1b", "eu-west-1c"]


def test_keys_can_come_from_the_environment(tmp_path: Path) -> None:
    environ = {"HIVE_ACCESS_KEY_ID": "AKIAGIVEN", "HIVE_SECRET_ACCESS_KEY": "given-secret"}
    with running_emulator(tmp_path, environ=environ) as hive:
        assert (hive.access_key, hive.secret_key) == ("AKIAGIVEN", "given-secret")
        assert hive.client("sts").get_caller_identity()["Account"] == "000000000001"
