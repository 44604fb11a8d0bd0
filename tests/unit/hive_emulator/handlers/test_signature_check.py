"""SigV4 against botocore's own signers: what they sign is accepted, and any change to it is not."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from hive_emulator.errors import ApiError
from hive_emulator.handlers import signature
from hive_emulator.handlers.exchange import Request

SECRET = "the secret"


def now() -> datetime:
    return datetime.now(timezone.utc)


def as_request(signed: AWSRequest) -> Request:
    url = urlsplit(signed.prepare().url)
    headers = {name.lower(): value for name, value in signed.headers.items()}
    headers.setdefault("host", url.netloc)
    body = signed.data if isinstance(signed.data, bytes) else (signed.data or "").encode()
    return Request(signed.method, url.path or "/", url.query.encode(), headers, body, "127.0.0.1")


def in_headers(
    url: str = "http://localhost:9999/", body: str = "Action=X", method: str = "POST", **extra: str
) -> Request:
    request = AWSRequest(method, url, data=body, headers={"Content-Type": "text/plain", **extra})
    SigV4Auth(Credentials("AK", SECRET), "ec2", "ap-southeast-2").add_auth(request)
    return as_request(request)


def presigned(expires: int = 60, url: str = "http://localhost:9999/?Action=X&Name=a%20b%2Fc") -> Request:
    request = AWSRequest("GET", url)
    SigV4QueryAuth(Credentials("AK", SECRET), "ec2", "ap-southeast-2", expires=expires).add_auth(request)
    return as_request(request)


def accepted(request: Request, secret: str = SECRET) -> bool:
    return signature.matches(request, signature.read(request), secret)


def refused(request: Request, later: timedelta = timedelta()) -> tuple[str, int]:
    with pytest.raises(ApiError) as caught:
        signature.check_date(signature.read(request), (now() + later).timestamp())
    return caught.value.code, caught.value.status


@pytest.mark.parametrize(
    "request_",
    [
        in_headers(),
        in_headers(body=""),
        in_headers("http://localhost:9999/?Action=X&A=%C3%A4&B=a%20b&B2=", body="", method="GET"),
        in_headers("http://localhost:9999/ec2/some%20path/"),
        in_headers(**{"X-Amz-Security-Token": "token", "X-Odd": "  two   spaces  "}),
        presigned(),
    ],
    ids=["form", "empty", "query", "path", "odd headers", "presigned"],
)
def test_what_botocore_signs_is_accepted_and_not_with_another_secret(request_: Request) -> None:
    assert accepted(request_)
    assert not accepted(request_, "another secret")


def test_any_change_after_signing_is_noticed() -> None:
    for change in (
        {"body": b"Action=Y"},
        {"method": "PUT"},
        {"path": "/other"},
        {"query": b"Action=Z"},
        {"headers": {**in_headers().headers, "host": "elsewhere"}},
    ):
        request = in_headers()
        for name, value in change.items():
            setattr(request, name, value)
        assert not accepted(request), change


def test_a_presigned_query_with_another_parameter_is_noticed() -> None:
    request = presigned()
    request.query += b"&Extra=1"
    assert not accepted(request)


def test_no_signature_at_all() -> None:
    with pytest.raises(ApiError) as caught:
        signature.read(Request("POST", "/", b"", {"host": "x"}, b"", ""))
    assert (caught.value.code, caught.value.status) == ("MissingAuthenticationToken", 403)


@pytest.mark.parametrize(
    "header",
    [
        "Basic dXNlcjpwYXNz",
        "AWS4-HMAC-SHA256",
        "AWS4-HMAC-SHA256 Credential=AK/20260101/r/ec2/aws4_request, SignedHeaders=host",
        "AWS4-HMAC-SHA256 Credential=AK/20260101/r/ec2, SignedHeaders=host, Signature=00",
        "AWS4-HMAC-SHA256 Credential=////, SignedHeaders=host, Signature=00",
        "AWS4-HMAC-SHA256 ,,,,=,=,=",
    ],
)
def test_half_a_signature_is_incomplete(header: str) -> None:
    request = Request("POST", "/", b"", {"authorization": header, "x-amz-date": "20260101T000000Z"}, b"", "")
    with pytest.raises(ApiError) as caught:
        signature.read(request)
    assert (caught.value.code, caught.value.status) == ("IncompleteSignature", 400)


def test_the_host_must_be_signed() -> None:
    request = in_headers()
    request.headers["authorization"] = request.headers["authorization"].replace("host;", "")
    with pytest.raises(ApiError, match="'Host' must be a 'SignedHeader'"):
        signature.read(request)


@pytest.mark.parametrize("names", ["host;a;a", "host;" + ";".join(f"a{n}" for n in range(100))])
def test_a_header_can_be_signed_once_and_not_too_many_of_them(names: str) -> None:
    request = in_headers()
    head, _, tail = request.headers["authorization"].partition("SignedHeaders=")
    request.headers["authorization"] = f"{head}SignedHeaders={names},{tail.partition(',')[2]}"
    with pytest.raises(ApiError, match="each header once"):
        signature.read(request)


@pytest.mark.parametrize("date", ["", "yesterday", "20261399T996199Z", "2026-01-01T00:00:00Z"])
def test_a_date_that_is_none_is_incomplete(date: str) -> None:
    request = in_headers()
    credential = request.headers["authorization"]
    request.headers["x-amz-date"] = date
    if date[:8].isdigit():
        today = now().strftime("%Y%m%d")
        request.headers["authorization"] = credential.replace(today, date[:8])
    assert refused(request)[0] == "IncompleteSignature"


def test_five_minutes_of_skew_are_allowed_both_ways() -> None:
    for minutes in (-4.9, 4.9):
        signature.check_date(signature.read(in_headers()), (now() + timedelta(minutes=minutes)).timestamp())
    for minutes in (-5.2, 5.2):
        assert refused(in_headers(), timedelta(minutes=minutes)) == ("RequestExpired", 400)


def test_a_presigned_request_lasts_as_long_as_it_says() -> None:
    signature.check_date(signature.read(presigned(3600)), (now() + timedelta(minutes=59)).timestamp())
    assert refused(presigned(3600), timedelta(minutes=61)) == ("RequestExpired", 400)


@pytest.mark.parametrize("expires", ["0", "-5", "604801", "1e3", "٣", "9" * 50])
def test_a_presigned_request_can_not_last_for_ever(expires: str) -> None:
    request = presigned()
    request.query = request.query.replace(b"X-Amz-Expires=60", f"X-Amz-Expires={expires}".encode())
    with pytest.raises(ApiError, match="X-Amz-Expires"):
        signature.read(request)


def test_sts_has_its_own_words_for_an_old_request() -> None:
    request = AWSRequest("POST", "http://localhost/", data="")
    SigV4Auth(Credentials("AK", SECRET), "sts", "us-east-1").add_auth(request)
    assert refused(as_request(request), timedelta(hours=1)) == ("SignatureDoesNotMatch", 403)


def test_a_signature_that_is_not_even_ascii_does_not_match() -> None:
    request = in_headers()
    head, _, _ = request.headers["authorization"].rpartition("=")
    request.headers["authorization"] = f"{head}=ÿÿ"
    assert not accepted(request)
