"""terraform output: the outputs of a component, asked of terraform itself.

The engine reads them from the state instead; this is for backends that it can't read, and for people.
"""

from __future__ import annotations

from saltform.terraform.command import arguments, flag
from saltform.terraform.session import Session, run_json
from saltform.tfstate.document import Output


def argv() -> list[str]:
    return arguments("output", json=flag(True))


def run(session: Session) -> dict[str, Output]:
    return {
        name: Output(item["value"], bool(item.get("sensitive")), item.get("type", "dynamic"))
        for name, item in run_json(session, argv()).items()
    }
