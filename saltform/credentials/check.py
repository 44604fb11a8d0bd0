"""Do the credentials work? Which source serves what, for how long, and whom the provider takes us for.

The question is the cheapest one that a provider answers only to somebody it knows: GetCallerIdentity for aws and
hive, its like for the others. Values are never shown. A kind without such a question is checked for being complete.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from saltform.config.kinds import KINDS
from saltform.config.types import Component, Provider
from saltform.credentials.aws import TIMEOUT, Refused, client
from saltform.credentials.lender import Lender
from saltform.credentials.loan import Served
from saltform.errors import SaltformError

Environment = Mapping[str, str]
Question = Callable[[Provider, Environment], str]


@dataclass(frozen=True)
class CheckResult:
    """`ok` is None where the kind has no question to ask."""

    component: str
    kind: str
    ok: bool | None
    who: str = ""
    detail: str = ""
    fix: str = ""
    served: tuple[Served, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {**vars(self), "served": [vars(item) for item in self.served]}


def check(lender: Lender, component: Component) -> CheckResult:
    """Lend, ask, give back."""
    kind = component.provider.kind if component.provider else ""
    try:
        with lender.lend(component) as loan:
            served = tuple(loan.served())
            if component.provider is None or not component.provider.credentials:
                return CheckResult(component.name, kind, None, detail="no credentials are lent", served=served)
            ok, who, detail = _ask(component.provider, loan.environment)
            detail = loan.masker.line(detail)
    except SaltformError as error:
        return CheckResult(component.name, kind, False, "", f"{error.summary}: {error.detail}", error.fix)
    fix = "" if ok is not False else f"renew them at their source: {', '.join(item.path for item in served)}"
    return CheckResult(component.name, kind, ok, who, detail, fix, served)


def _ask(provider: Provider, environment: Environment) -> tuple[bool | None, str, str]:
    question = QUESTIONS.get(KINDS[provider.kind].check)
    if question is None:
        return None, "", f"complete; {provider.kind} has no question that would tell more"
    try:
        return True, question(provider, environment), ""
    except Refused as error:
        return False, "", str(error)


def _aws(provider: Provider, environment: Environment) -> str:
    if "AWS_ACCESS_KEY_ID" not in environment:
        return "a workload identity, known when terraform asks for it"
    with client("sts", provider, environment) as sts:
        return str(sts.get_caller_identity()["Arn"])


def _azure(provider: Provider, environment: Environment) -> str:
    if not environment.get("ARM_CLIENT_SECRET"):
        return "a certificate or workload identity, known when terraform asks for it"
    login = provider.settings.get("login_endpoint") or "https://login.microsoftonline.com"
    body = {
        "grant_type": "client_credentials",
        "client_id": environment["ARM_CLIENT_ID"],
        "client_secret": environment["ARM_CLIENT_SECRET"],
        "scope": "https://management.azure.com/.default",
    }
    _http("POST", f"{login}/{environment['ARM_TENANT_ID']}/oauth2/v2.0/token", provider, data=body)
    return f"client {environment['ARM_CLIENT_ID']} of tenant {environment['ARM_TENANT_ID']}"


def _bearer(default: str, path: str, variable: str, who: Callable[[Any], str]) -> Question:
    """A provider that is asked with a bearer token."""

    def ask(provider: Provider, environment: Environment) -> str:
        if variable not in environment:
            return "a way to authenticate that only terraform can try"
        headers = {"Authorization": f"Bearer {environment[variable]}"}
        return who(_http("GET", (provider.endpoint or default).rstrip("/") + path, provider, headers=headers))

    return ask


def _proxmox(provider: Provider, environment: Environment) -> str:
    if "PROXMOX_VE_API_TOKEN" in environment:
        headers = {"Authorization": f"PVEAPIToken={environment['PROXMOX_VE_API_TOKEN']}"}
        version = _http("GET", f"{provider.endpoint.rstrip('/')}/api2/json/version", provider, headers=headers)
        return f"{environment['PROXMOX_VE_API_TOKEN'].partition('=')[0]} on version {version['data']['version']}"
    body = {"username": environment["PROXMOX_VE_USERNAME"], "password": environment["PROXMOX_VE_PASSWORD"]}
    answer = _http("POST", f"{provider.endpoint.rstrip('/')}/api2/json/access/ticket", provider, data=body)
    return str(answer["data"]["username"])


def _vault(provider: Provider, environment: Environment) -> str:
    headers = {"X-Vault-Token": environment["VAULT_TOKEN"]}
    if environment.get("VAULT_NAMESPACE"):
        headers["X-Vault-Namespace"] = environment["VAULT_NAMESPACE"]
    answer = _http("GET", f"{provider.endpoint.rstrip('/')}/v1/auth/token/lookup-self", provider, headers=headers)
    return f"{answer['data']['display_name']} with the policies {', '.join(answer['data']['policies'])}"


def _http(method: str, url: str, provider: Provider, **request: Any) -> Any:
    import requests

    try:
        answer = requests.request(method, url, timeout=TIMEOUT, verify=provider.ca or True, **request)
    except requests.RequestException as error:
        raise Refused(f"{url.partition('?')[0]} is out of reach: {type(error).__name__}") from None
    if not answer.ok:
        raise Refused(f"{url} answered {answer.status_code} {answer.reason}")
    try:
        return answer.json()
    except ValueError:
        raise Refused(f"{url} didn't answer with JSON") from None


QUESTIONS: Mapping[str, Question] = {
    "aws": _aws,
    "azure": _azure,
    "hetzner": _bearer(
        "https://api.hetzner.cloud/v1", "/locations", "HCLOUD_TOKEN", lambda answer: "a project's token"
    ),
    "digitalocean": _bearer(
        "https://api.digitalocean.com", "/v2/account", "DIGITALOCEAN_TOKEN", lambda answer: answer["account"]["email"]
    ),
    "cloudflare": _bearer(
        "https://api.cloudflare.com/client/v4",
        "/user/tokens/verify",
        "CLOUDFLARE_API_TOKEN",
        lambda answer: f"token {answer['result']['id']}",
    ),
    "proxmox": _proxmox,
    "vault": _vault,
}
