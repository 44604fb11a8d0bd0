"""Provider kinds, as one table: what each needs in its environment, and what its provider block says.

A kind knows which variables authenticate it, which of them are secret, under which name it takes a private
CA, and what may never stand in its provider block because it would be a secret in a file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from saltform.errors import Problem

if TYPE_CHECKING:
    from saltform.config.types import Provider


@dataclass(frozen=True)
class Kind:
    """One kind of provider. `ways` are the sets of variables that authenticate it: any one is enough."""

    name: str
    source: str  # without a host: terraform and tofu have a registry each
    ways: tuple[frozenset[str], ...] = ()
    secret: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    ca_variable: str = "SSL_CERT_FILE"  # Go programs read it in place of the system's own roots
    endpoint: str = "endpoint"  # what the provider block calls it; in capitals: an environment variable
    region: str = ""
    tags: str = ""  # default_tags, default_labels or nothing
    block: tuple[tuple[str, Any], ...] = ()  # what its provider block always says
    never: frozenset[str] = frozenset()  # arguments of the provider block that would be a secret in a file
    check: str = ""  # the check in check.py that asks the provider who we are

    @property
    def variables(self) -> frozenset[str]:
        """Every credential variable that this kind knows."""
        return frozenset().union(*self.ways) | self.optional

    def local_name(self, provider: Provider) -> str:
        """The provider's name inside Terraform: `aws` for hashicorp/aws."""
        return (provider.source or self.source).rsplit("/", 1)[-1]

    def missing(self, have: set[str] | frozenset[str]) -> frozenset[str]:
        """What the way that was begun lacks; empty when one is complete, or the kind asks for nothing."""
        begun = min(self.ways, key=lambda way: (bool(way - have), -len(way & have)), default=frozenset())
        return begun - have

    def provider_block(self, provider: Provider, tags: Mapping[str, str]) -> dict[str, Any]:
        """The arguments of the `provider` block: how to reach the target, never who we are."""
        block: dict[str, Any] = dict(self.block)
        if provider.region and self.region and not self.region.isupper():
            block[self.region] = provider.region
        if provider.endpoint and self.endpoint == "endpoints":
            # STS is on the same endpoint, so keys are still checked when the provider starts.
            block |= {
                "skip_region_validation": True,
                "skip_metadata_api_check": True,
                "endpoints": dict.fromkeys(("ec2", "iam", "ssm", "sts"), provider.endpoint),
            }
        elif provider.endpoint and self.endpoint and not self.endpoint.isupper():
            block[self.endpoint] = provider.endpoint
        if tags and self.tags == "default_tags":
            block["default_tags"] = {"tags": dict(tags)}
        elif tags and self.tags == "default_labels":
            block["default_labels"] = {_label(name): _label(value) for name, value in tags.items()}
        return _merged(block, provider.settings)

    def environment(self, provider: Provider) -> dict[str, str]:
        """Variables that are no secret: the CA, and an address or a region that has no place in the block."""
        said = {
            self.ca_variable: provider.ca,
            self.endpoint if self.endpoint.isupper() else "": provider.endpoint,
            self.region if self.region.isupper() else "": provider.region,
        }
        return {name: value for name, value in said.items() if name and value}


def _label(text: str) -> str:
    """A tag as Google allows a label to be: lower case, and no marks but - and _."""
    return re.sub(r"[^a-z0-9_-]", "_", text.lower())[:63]


def _merged(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Pillar's `settings` win, map by map."""
    merged = dict(ours)
    for name, value in theirs.items():
        mine = merged.get(name)
        if isinstance(mine, Mapping) and isinstance(value, Mapping):
            merged[name] = _merged(mine, value)
        else:
            merged[name] = value
    return merged


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_AWS: dict[str, Any] = {
    "source": "hashicorp/aws",
    "ways": (
        _set("AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY"),
        _set("AWS_ROLE_ARN AWS_WEB_IDENTITY_TOKEN_FILE"),
        _set("AWS_CONTAINER_CREDENTIALS_FULL_URI"),
    ),
    "secret": _set("AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_CONTAINER_AUTHORIZATION_TOKEN"),
    "optional": _set("AWS_SESSION_TOKEN AWS_ROLE_SESSION_NAME AWS_CONTAINER_AUTHORIZATION_TOKEN"),
    "ca_variable": "AWS_CA_BUNDLE",
    "endpoint": "endpoints",
    "region": "region",
    "tags": "default_tags",
    # Its own 25 take minutes in silence; what fails after five is throttling that we slow down for, and show.
    "block": (("max_retries", 5),),
    "never": _set("access_key secret_key token profile shared_credentials_file shared_credentials_files"),
    "check": "aws",
}

_ARM = "ARM_CLIENT_ID ARM_TENANT_ID ARM_SUBSCRIPTION_ID "

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(name="aws", **_AWS),
        Kind(name="hive", **_AWS),
        Kind(
            name="azure",
            source="hashicorp/azurerm",
            ways=(
                _set(_ARM + "ARM_CLIENT_SECRET"),
                _set(_ARM + "ARM_CLIENT_CERTIFICATE_PATH"),
                _set(_ARM + "ARM_CLIENT_CERTIFICATE"),
                _set(_ARM + "ARM_USE_OIDC"),
            ),
            secret=_set(
                "ARM_CLIENT_SECRET ARM_CLIENT_CERTIFICATE ARM_CLIENT_CERTIFICATE_PASSWORD"
                " ARM_OIDC_TOKEN ARM_OIDC_REQUEST_TOKEN"
            ),
            optional=_set(
                "ARM_CLIENT_CERTIFICATE_PASSWORD ARM_OIDC_TOKEN ARM_OIDC_TOKEN_FILE_PATH"
                " ARM_OIDC_REQUEST_TOKEN ARM_OIDC_REQUEST_URL ARM_ENVIRONMENT"
            ),
            endpoint="metadata_host",
            block=(("features", {}),),
            never=_set("client_secret client_certificate client_certificate_password oidc_token"),
            check="azure",
        ),
        Kind(
            name="gcp",
            source="hashicorp/google",
            ways=(
                _set("GOOGLE_CREDENTIALS"),
                _set("GOOGLE_APPLICATION_CREDENTIALS"),
                _set("GOOGLE_OAUTH_ACCESS_TOKEN"),
            ),
            secret=_set("GOOGLE_CREDENTIALS GOOGLE_OAUTH_ACCESS_TOKEN"),
            optional=_set("GOOGLE_PROJECT"),
            endpoint="",
            region="region",
            tags="default_labels",
            never=_set("credentials access_token"),
        ),
        Kind(
            name="hetzner",
            source="hetznercloud/hcloud",
            ways=(_set("HCLOUD_TOKEN"),),
            secret=_set("HCLOUD_TOKEN"),
            never=_set("token"),
            check="hetzner",
        ),
        Kind(
            name="proxmox",
            source="bpg/proxmox",
            ways=(_set("PROXMOX_VE_API_TOKEN"), _set("PROXMOX_VE_USERNAME PROXMOX_VE_PASSWORD")),
            secret=_set(
                "PROXMOX_VE_API_TOKEN PROXMOX_VE_PASSWORD PROXMOX_VE_SSH_PASSWORD PROXMOX_VE_SSH_PRIVATE_KEY"
            ),
            optional=_set("PROXMOX_VE_SSH_USERNAME PROXMOX_VE_SSH_PASSWORD PROXMOX_VE_SSH_PRIVATE_KEY"),
            never=_set("password api_token"),
            check="proxmox",
        ),
        Kind(
            name="digitalocean",
            source="digitalocean/digitalocean",
            ways=(_set("DIGITALOCEAN_TOKEN"),),
            secret=_set("DIGITALOCEAN_TOKEN SPACES_SECRET_ACCESS_KEY"),
            optional=_set("SPACES_ACCESS_KEY_ID SPACES_SECRET_ACCESS_KEY"),
            endpoint="api_endpoint",
            never=_set("token spaces_secret_key"),
            check="digitalocean",
        ),
        Kind(
            name="cloudflare",
            source="cloudflare/cloudflare",
            ways=(_set("CLOUDFLARE_API_TOKEN"), _set("CLOUDFLARE_EMAIL CLOUDFLARE_API_KEY")),
            secret=_set("CLOUDFLARE_API_TOKEN CLOUDFLARE_API_KEY CLOUDFLARE_API_USER_SERVICE_KEY"),
            optional=_set("CLOUDFLARE_API_USER_SERVICE_KEY"),
            endpoint="CLOUDFLARE_BASE_URL",
            never=_set("api_token api_key api_user_service_key"),
            check="cloudflare",
        ),
        Kind(
            name="cato",
            source="catonetworks/cato",
            ways=(_set("CATO_TOKEN"),),
            secret=_set("CATO_TOKEN"),
            endpoint="baseurl",
            never=_set("token"),
        ),
        Kind(
            name="versa",
            source="versa-networks.com/versa-networks/versadirector",
            ways=(
                _set(
                    "VERSA_DIRECTOR_USERNAME VERSA_DIRECTOR_PASSWORD"
                    " VERSA_DIRECTOR_OAUTH_CLIENT_ID VERSA_DIRECTOR_OAUTH_CLIENT_SECRET"
                ),
            ),
            secret=_set("VERSA_DIRECTOR_PASSWORD VERSA_DIRECTOR_OAUTH_CLIENT_SECRET"),
            endpoint="host",
            block=(("port", "9182"), ("oauth_grant_type", "password")),
            never=_set("password oauth_client_secret"),
        ),
        Kind(
            name="vault",
            source="hashicorp/vault",
            ways=(_set("VAULT_TOKEN"),),
            secret=_set("VAULT_TOKEN"),
            optional=_set("VAULT_NAMESPACE"),
            ca_variable="VAULT_CACERT",
            endpoint="address",
            never=_set("token auth_login auth_login_userpass"),
            check="vault",
        ),
        Kind(name="generic", source=""),
    )
}


def validate_provider(provider: Provider, path: str) -> list[Problem]:
    """A secret in the provider block would be a secret in a file: say so before anything is rendered."""
    kind = KINDS[provider.kind]
    problems = [
        Problem(
            f"{path}:settings:{name}",
            "a value that belongs to a credential",
            f"nothing here; name its source under {path}:credentials instead",
        )
        for name in sorted(kind.never.intersection(provider.settings))
    ]
    if not (provider.source or kind.source):
        problems.append(
            Problem(f"{path}:source", "nothing", f"a provider address, since kind {kind.name} has no default")
        )
    return problems
