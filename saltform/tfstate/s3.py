"""States in an S3 bucket, as the backend `s3` stores them. The client is handed in: it has the credentials."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from saltform.errors import StateError, StatesAway
from saltform.tfstate.fetched import Fetched, FetchedStates

Key = Callable[[str, str], str]  # environment, component → the object's key
_NOT_MODIFIED, _MISSING = ("304", "NotModified"), ("404", "NoSuchKey", "NotFound")
_FIXES = {
    "NoSuchBucket": "create the bucket, or correct backend:bucket",
    "AccessDenied": "let these keys list the bucket and read its objects (s3:ListBucket, s3:GetObject)",
    "InvalidAccessKeyId": "check the source at backend:credentials",
    "SignatureDoesNotMatch": "check the source at backend:credentials",
}


class S3States(FetchedStates):
    """The states in one bucket."""

    def __init__(self, client: Any, bucket: str, key: Key) -> None:
        super().__init__()
        self._client = client
        self._bucket = bucket
        self._key = key

    def keeps_versions(self) -> bool:
        """Whether the bucket keeps what an object was before; one that doesn't say is one that doesn't."""
        with contextlib.suppress(StateError), self._speaking(f"s3://{self._bucket}") as answer:
            answer.append(self._client.get_bucket_versioning(Bucket=self._bucket).get("Status") == "Enabled")
            return bool(answer[0])
        return False

    def close(self) -> None:
        self._client.close()

    def name(self, environment: str, component: str) -> str:
        return f"s3://{self._bucket}/{self._key(environment, component)}"

    def fetch(self, environment: str, component: str, known: str) -> Fetched | None | bool:
        given = {"Bucket": self._bucket, "Key": self._key(environment, component)}
        if known:
            given["IfNoneMatch"] = known
        with self._speaking(self.name(environment, component)) as answer:
            found = self._client.get_object(**given)
            with found["Body"] as body:
                answer.append(Fetched(found["ETag"], body.read()))
        return answer[0]

    def marks(self, environment: str, components: Iterable[str]) -> Mapping[str, str]:
        keys = {self._key(environment, name): name for name in components}
        if not keys:
            return {}
        prefix = _common(list(keys))
        found: dict[str, str] = {}
        with self._speaking(f"s3://{self._bucket}/{prefix}"):
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
            for page in pages:
                listed = page.get("Contents", ())
                found.update((keys[item["Key"]], item["ETag"]) for item in listed if item["Key"] in keys)
        return found

    @contextlib.contextmanager
    def _speaking(self, name: str) -> Iterator[list[Any]]:
        """Unchanged and missing are answers, everything else is an error that says what to do."""
        from botocore.exceptions import BotoCoreError, ClientError

        answer: list[Any] = []
        try:
            yield answer
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            if code in _NOT_MODIFIED:
                answer.append(True)
            elif code in _MISSING:
                answer.append(None)
            else:
                said = error.response.get("Error", {}).get("Message") or code
                raise StateError("the state can't be read", f"{name}: {code}: {said}", _FIXES.get(code, "")) from None
        except BotoCoreError as error:
            fix = "check the endpoint, and that it is up"
            raise StatesAway("the state can't be read", f"{name}: {error}", fix) from None


def _common(keys: list[str]) -> str:
    """What all keys begin with, so that one listing has them all."""
    low, high = min(keys), max(keys)
    length = next((at for at, pair in enumerate(zip(low, high, strict=False)) if pair[0] != pair[1]), len(low))
    return low[:length]
