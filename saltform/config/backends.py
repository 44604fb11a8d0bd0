"""Backends, as one table: what each calls the state of one component, what it takes, and what it must not be told.

`{environment}` and `{component}` in the settings that name a state are filled in for each component, so that no two
share one. A secret never stands in a backend's block, which terraform copies into its own files: it is lent.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from saltform.config.providers import read_sources
from saltform.config.sources import validate_lent
from saltform.config.types import Backend, CredentialSource
from saltform.errors import Problem
from saltform.process import BACKEND_PROFILE

if TYPE_CHECKING:
    from saltform.config.reader import Reader

LONGEST = 63  # letters of a schema's name in PostgreSQL, and of a label in Kubernetes
_MARKS = ("{environment}", "{component}")
_PASSWORD = re.compile(r"\bpassword\s*=")


@dataclass(frozen=True)
class BackendKind:
    """`named` are the settings that name one component's state, with what they are when pillar doesn't say."""

    named: Mapping[str, str]
    takes: frozenset[str]
    needs: frozenset[str] = frozenset()
    lent: Mapping[str, str] | None = None  # settings that would be a secret in a file → the variable to lend instead
    place: tuple[str, ...] = ()  # beside the name: the settings that say where the states are
    longest: int = 0  # letters that the name may have


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


KINDS: Mapping[str, BackendKind] = {
    "local": BackendKind({}, frozenset()),
    "s3": BackendKind(
        named={"key": "{environment}/{component}/terraform.tfstate"},
        takes=_words(
            "bucket region endpoint endpoints use_path_style encrypt acl kms_key_id use_lockfile dynamodb_table "
            "skip_credentials_validation skip_region_validation skip_requesting_account_id skip_s3_checksum "
            "assume_role assume_role_with_web_identity custom_ca_bundle insecure max_retries retry_mode "
            "allowed_account_ids forbidden_account_ids use_dualstack_endpoint use_fips_endpoint sts_region "
            "http_proxy https_proxy no_proxy"
        ),
        needs=_words("bucket region"),
        lent={
            "access_key": "AWS_ACCESS_KEY_ID",
            "secret_key": "AWS_SECRET_ACCESS_KEY",
            "token": "AWS_SESSION_TOKEN",
        },
        place=("bucket", "endpoint", "endpoints"),
    ),
    "pg": BackendKind(
        named={"schema_name": "{environment}.{component}"},
        takes=_words("conn_str skip_schema_creation skip_table_creation skip_index_creation"),
        place=("conn_str",),
        longest=LONGEST,
    ),
    "http": BackendKind(
        named={"address": "", "lock_address": "", "unlock_address": ""},
        takes=_words(
            "update_method lock_method unlock_method skip_cert_verification retry_max retry_wait_min retry_wait_max "
            "client_ca_certificate_pem client_certificate_pem"
        ),
        needs=_words("address"),
        lent={
            "username": "TF_HTTP_USERNAME",
            "password": "TF_HTTP_PASSWORD",
            "client_private_key_pem": "TF_HTTP_CLIENT_PRIVATE_KEY_PEM",
        },
    ),
    "gcs": BackendKind(
        named={"prefix": "{environment}/{component}"},
        takes=_words(
            "bucket impersonate_service_account impersonate_service_account_delegates kms_encryption_key "
            "storage_custom_endpoint"
        ),
        needs=_words("bucket"),
        lent={"access_token": "GOOGLE_OAUTH_ACCESS_TOKEN", "encryption_key": "GOOGLE_ENCRYPTION_KEY"},
        place=("bucket", "storage_custom_endpoint"),
    ),
    "azurerm": BackendKind(
        named={"key": "{environment}/{component}/terraform.tfstate"},
        takes=_words(
            "storage_account_name container_name resource_group_name subscription_id tenant_id client_id environment "
            "endpoint metadata_host msi_endpoint use_msi use_oidc use_azuread_auth oidc_token_file_path snapshot"
        ),
        needs=_words("storage_account_name container_name"),
        lent={
            "access_key": "ARM_ACCESS_KEY",
            "sas_token": "ARM_SAS_TOKEN",
            "client_secret": "ARM_CLIENT_SECRET",
            "client_certificate_password": "ARM_CLIENT_CERTIFICATE_PASSWORD",
            "oidc_token": "ARM_OIDC_TOKEN",
        },
        place=("storage_account_name", "container_name", "environment", "endpoint"),
    ),
    "consul": BackendKind(
        named={"path": "saltform/{environment}/{component}"},
        takes=_words("address scheme datacenter gzip lock ca_file cert_file key_file"),
        needs=_words("address"),
        lent={"access_token": "CONSUL_HTTP_TOKEN", "http_auth": "CONSUL_HTTP_AUTH"},
        place=("address", "datacenter"),
    ),
    "kubernetes": BackendKind(
        named={"secret_suffix": "{environment}.{component}.state"},
        takes=_words(
            "namespace labels in_cluster_config host insecure cluster_ca_certificate client_certificate config_path "
            "config_paths config_context config_context_auth_info config_context_cluster proxy_url"
        ),
        lent={
            "token": "KUBE_TOKEN",
            "username": "KUBE_USER",
            "password": "KUBE_PASSWORD",
            "client_key": "KUBE_CLIENT_KEY_DATA",
        },
        place=("namespace", "host", "config_path", "config_context"),
        longest=LONGEST,
    ),
}


def read_backend(reader: Reader, default: Backend) -> Backend:
    """`backend:` of the defaults, an environment or a component; the state's name is filled in by `located`."""
    if reader.tree.get("backend") is None:
        return default
    section = reader.section("backend")
    type_ = section.choice("type", "local", KINDS)
    kind = KINDS[type_]
    given = {name: value for name, value in section.tree.items() if name not in ("type", "credentials")}
    section.only(("type", "credentials", *kind.takes, *kind.named, *(kind.lent or ())))
    for name, variable in (kind.lent or {}).items():
        if name in given:
            fix = f"a source at credentials: that serves {variable}: a backend's block is copied into files"
            section.add(Problem(section.at(name), "a value", fix))
    for name in sorted(kind.needs - given.keys()):
        section.problem(name, None, f"a value: the {type_} backend needs it")
    settings = {
        str(name): section.plain(str(name), value) for name, value in given.items() if name not in (kind.lent or ())
    }
    for name, value in settings.items():
        _check_setting(section, kind, name, value)
    if type_ == "local" and section.tree.get("credentials") is not None:
        section.problem("credentials", section.tree["credentials"], "nothing: a local state is a file of this master")
    sources = read_sources(section, "credentials")
    for problem in (found for source in sources for found in validate_lent(source)):
        section.add(problem)
    return Backend(type_, settings, sources)


def _check_setting(section: Reader, kind: BackendKind, name: str, value: Any) -> None:
    if isinstance(value, str) and (_PASSWORD.search(value) or _has_password(value)):
        fix = "no password in it: lend it by a source at credentials:"
        section.add(Problem(section.at(name), "a password", fix))
        return
    if name in kind.named and not (isinstance(value, str) and all(mark in value for mark in _MARKS)):
        example = kind.named[name] or "https://states.example.com/{environment}/{component}"
        section.problem(name, value, f"{' and '.join(_MARKS)} in it, so that no two components share it: {example}")


def _has_password(value: str) -> bool:
    try:
        return bool(urlsplit(value).password)
    except ValueError:
        return False


def located(backend: Backend, environment: str, component: str) -> Backend:
    """The backend with the name of this component's state."""
    kind = KINDS[backend.type]
    names = {name: backend.settings.get(name) or default for name, default in kind.named.items()}
    filled = {name: _filled(text, environment, component, kind.longest) for name, text in names.items() if text}
    return Backend(backend.type, {**backend.settings, **filled}, backend.credentials)


def _filled(template: str, environment: str, component: str, longest: int) -> str:
    """A name that would be too long is cut, and told apart by a digest."""
    name = template.replace("{environment}", environment).replace("{component}", component)
    if not longest or len(name) <= longest:
        return name
    return f"{name[: longest - 17]}.{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def place(backend: Backend) -> str:
    """Where the state is, as a person reads it; another text means another state."""
    kind = KINDS[backend.type]
    names = (*kind.place, *(name for name in kind.named if "lock" not in name))
    said = [f"{name}={_text(backend.settings[name])}" for name in names if backend.settings.get(name)]
    return " ".join([backend.type, *said])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def block(backend: Backend, version: str) -> dict[str, Any]:
    """The arguments of the `backend` block for this binary; where there is something to lend, how it is found."""
    tree = dict(backend.settings)
    if backend.type != "s3":
        return tree
    if endpoint := tree.pop("endpoint", ""):  # not AWS: nobody to ask for accounts and regions
        skipped = "skip_credentials_validation", "skip_requesting_account_id", "skip_region_validation"
        tree = {"endpoints": {"s3": endpoint}, **dict.fromkeys((*skipped, "use_path_style"), True), **tree}
    if has_lockfile(version) and "dynamodb_table" not in tree:
        tree.setdefault("use_lockfile", True)
    return tree | ({"profile": BACKEND_PROFILE} if backend.credentials else {})


def has_lockfile(version: str) -> bool:
    """Terraform and OpenTofu lock a state in S3 by a file beside it from 1.10 on."""
    return tuple(int(part) for part in version.split("-")[0].split(".")[:2]) >= (1, 10)


def lacks_lock(backend: Backend) -> str:
    """Which settings are missing for Terraform to lock a state there; '' if it does."""
    given = backend.settings
    if backend.type == "http" and not given.get("lock_address"):
        return "lock_address and unlock_address"
    if backend.type == "s3" and given.get("use_lockfile") is False and not given.get("dynamodb_table"):
        return "use_lockfile: true"
    if backend.type == "consul" and given.get("lock") is False:
        return "lock: true"
    return ""


def encode(backend: Backend) -> str:
    """For the record: enough to reach the state after pillar has changed. Where secrets are, never a secret."""
    if backend.type == "local":
        return ""
    sources = [[item.kind, dict(item.options), item.path] for item in backend.credentials]
    return json.dumps([backend.type, dict(backend.settings), sources], sort_keys=True, default=str)


def decode(text: str) -> Backend:
    if not text:
        return Backend()
    type_, settings, sources = json.loads(text)
    return Backend(type_, settings, tuple(CredentialSource(*item) for item in sources))
