"""A client of an AWS-compatible provider with lent credentials: for questions, and to remove what no state knows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from saltform.config.types import Provider

TIMEOUT = 10.0


class Refused(Exception):
    """The provider doesn't answer us; the text is its own, without values."""


def states_client(settings: Mapping[str, Any], lent: Mapping[str, str]) -> Any:
    """A client of the S3 that has states, with the backend's own credentials."""
    import botocore.session
    from botocore.config import Config

    session = botocore.session.Session(session_vars={"profile": (None, None, None, None)})
    # Nobody asks when an object was stored, and reading a hundred times of day takes longer than the listing itself.
    session.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=str)
    endpoint = settings.get("endpoint") or (settings.get("endpoints") or {}).get("s3")
    path_style = settings.get("use_path_style", bool(settings.get("endpoint")))
    return session.create_client(
        "s3",
        region_name=str(settings["region"]),
        endpoint_url=endpoint or None,
        verify=False if settings.get("insecure") else settings.get("custom_ca_bundle"),
        aws_access_key_id=lent.get("AWS_ACCESS_KEY_ID"),
        aws_secret_access_key=lent.get("AWS_SECRET_ACCESS_KEY"),
        aws_session_token=lent.get("AWS_SESSION_TOKEN"),
        config=Config(
            connect_timeout=TIMEOUT,
            read_timeout=TIMEOUT,
            retries={"max_attempts": 2},
            max_pool_connections=16,
            s3={"addressing_style": "path" if path_style else "auto"},
        ),
    )


@contextlib.contextmanager
def client(service: str, provider: Provider, environment: Mapping[str, str]) -> Iterator[Any]:
    """A botocore client that knows only what was lent: no profile, no file and no variable of this process."""
    import botocore.exceptions
    import botocore.session
    from botocore.config import Config

    session = botocore.session.Session(session_vars={"profile": (None, None, None, None)})
    endpoints = provider.settings.get("endpoints") or {}
    made = session.create_client(
        service,
        region_name=provider.region or "us-east-1",
        endpoint_url=endpoints.get(service) or provider.endpoint or None,
        verify=provider.ca or None,
        aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
        aws_session_token=environment.get("AWS_SESSION_TOKEN"),
        config=Config(connect_timeout=TIMEOUT, read_timeout=TIMEOUT, retries={"max_attempts": 1}),
    )
    try:
        yield made
    except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as error:
        raise Refused(str(error)) from None
    finally:
        made.close()
