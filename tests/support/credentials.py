"""Components that need credentials, for tests."""

from __future__ import annotations

from typing import Any

from saltform.config.types import Backend, Component, CredentialSource, Provider

KEYS = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE000000001", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLE"}


def source(kind: str, **options: Any) -> CredentialSource:
    return CredentialSource(kind, options, f"infrastructure:providers:p:credentials:{kind}")


def component(
    *sources: CredentialSource,
    kind: str = "aws",
    name: str = "llm",
    secrets: dict[str, CredentialSource] | None = None,
    backend: Backend | None = None,
    **provider: Any,
) -> Component:
    return Component(
        environment="staging",
        name=name,
        module="m",
        provider=Provider("p", kind, credentials=sources, **provider),
        secret_variables=secrets or {},
        backend=backend or Backend(),
    )
