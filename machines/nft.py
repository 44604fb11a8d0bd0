"""Rules of nftables in a namespace: one whole transaction, so that there is never half of a rule set."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from machines.errors import MachinesError, RulesRefused

Command = dict[str, Any]


def replace(namespace: str, commands: Sequence[Command]) -> None:
    """Replace all rules of a namespace by what ``commands`` add, or change nothing."""
    _send(namespace, commands, "-f")


def check(namespace: str, commands: Sequence[Command]) -> None:
    """Refuse what :func:`replace` would refuse, and change nothing."""
    _send(namespace, commands, "-cf")


def _send(namespace: str, commands: Sequence[Command], how: str) -> None:
    document = json.dumps({"nftables": [{"flush": {"ruleset": None}}, *commands]})
    words = ["ip", "netns", "exec", namespace, "nft", "-j", how, "-"]
    try:
        done = subprocess.run(words, input=document, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        raise MachinesError("nft or ip is not installed: make machines installs nftables and iproute2") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"code {done.returncode}"]
        raise RulesRefused(f"nftables refused the rules of {namespace}: {said[0]}")


def listed(namespace: str) -> list[Command]:
    """The rules in force."""
    words = ["ip", "netns", "exec", namespace, "nft", "-j", "list", "ruleset"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)["nftables"] if done.stdout.strip() else []
