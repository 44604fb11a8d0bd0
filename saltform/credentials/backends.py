"""The backend's credentials, lent beside the provider's in one process, and never under the same names.

State in one AWS account and resources in another: both would be `AWS_ACCESS_KEY_ID`. So the s3 backend is
told to use a profile, the profile's credential process prints one variable of terraform's own environment,
and that variable is the only place where the backend's keys are: no file and no argument has them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from saltform.config.backends import KINDS
from saltform.errors import CredentialError
from saltform.process import BACKEND_VARIABLE

_AWS_NAMES = {
    "AccessKeyId": "AWS_ACCESS_KEY_ID",
    "SecretAccessKey": "AWS_SECRET_ACCESS_KEY",
    "SessionToken": "AWS_SESSION_TOKEN",
}
# What the backends read from their environment, beside what stands for a setting of theirs.
_MORE: Mapping[str, tuple[str, ...]] = {
    "pg": ("PG_CONN_STR", "PGHOST", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD"),
    "gcs": ("GOOGLE_BACKEND_CREDENTIALS",),
}
NAMES: Mapping[str, frozenset[str]] = {
    name: frozenset((*(kind.lent or {}).values(), *_MORE.get(name, ()))) for name, kind in KINDS.items()
}
_PUBLIC = ("AWS_ACCESS_KEY_ID", "PGHOST", "PGPORT", "PGDATABASE", "PGUSER", "TF_HTTP_USERNAME", "KUBE_USER")


def secrets(values: Mapping[str, str]) -> list[str]:
    """What of it is to be masked: of an address, its password too."""
    found = [value for name, value in values.items() if name not in _PUBLIC]
    return found + [unquote(part) for value in found if "://" in value and (part := urlsplit(value).password)]


def environment(backend_type: str, values: Mapping[str, str], component: str) -> dict[str, str]:
    """The variables for one process."""
    if backend_type != "s3":
        return dict(values)
    keys = {theirs: values[ours] for theirs, ours in _AWS_NAMES.items() if values.get(ours)}
    missing = [_AWS_NAMES[name] for name in ("AccessKeyId", "SecretAccessKey") if name not in keys]
    if missing:
        raise CredentialError(
            f"Partial credentials for the s3 backend in component {component}: missing {', '.join(missing)}",
            "the backend's own sources don't serve it; the provider's are not used for it",
            f"add it to the source at backend:credentials, with map: {{{missing[0]}: FIELD}}",
            component=component,
        )
    return {BACKEND_VARIABLE: json.dumps({"Version": 1, **keys})}
