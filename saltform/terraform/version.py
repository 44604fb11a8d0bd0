"""terraform version: the binary's own, and those of the providers that a workspace has chosen."""

from __future__ import annotations

from typing import Any

from saltform.terraform.command import arguments, flag
from saltform.terraform.session import Session, run_json


def argv() -> list[str]:
    return arguments("version", json=flag(True))


def run(session: Session) -> dict[str, Any]:
    """`{"product", "version", "platform", "providers": {source: version}}`"""
    answer = run_json(session, argv())
    return {
        "product": session.binary.product,
        "version": answer["terraform_version"],
        "platform": answer.get("platform", ""),
        "providers": answer.get("provider_selections") or {},
    }
