"""What is behind a guest that runs: nothing but rules here, or a machine.

The calls know a guest only through a `Runtime`. `RuleRuntime` has no machines: a guest is up at once, its agent
answers with the addresses that the rules of `leases.py` give it, and a command in it is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from proxmox_emulator.guests import leases
from proxmox_emulator.records import Body, Records


@dataclass(frozen=True)
class CommandResult:
    """How a command in a guest ended."""

    exit_code: int
    output: str = ""
    errors: str = ""


class Runtime(Protocol):
    """What guests run on."""

    async def start(self, guest: Body) -> None:
        """Boot the guest; raises `TaskError` if it can't."""

    async def stop(self, guest: Body) -> None:
        """End the guest, whatever it does."""

    async def shutdown(self, guest: Body) -> None:
        """Let the guest end itself."""

    async def remove(self, guest: Body) -> None:
        """Delete what is left of a guest that is destroyed."""

    async def interfaces(self, guest: Body) -> list[dict[str, Any]] | None:
        """The interfaces as the guest agent reports them; None while it doesn't answer."""

    async def execute(self, guest: Body, command: list[str], given: str) -> CommandResult:
        """Run a command in the guest."""


class RuleRuntime:
    """No machines: the agent answers by rule."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def start(self, guest: Body) -> None:
        """Every interface gets its address, which it keeps."""
        with self._records.transaction():
            leases.assign(self._records, guest)

    async def stop(self, guest: Body) -> None:
        """Nothing runs."""

    async def shutdown(self, guest: Body) -> None:
        """Nothing runs."""

    async def remove(self, guest: Body) -> None:
        """The addresses are free again."""
        with self._records.transaction():
            leases.release(self._records, guest)

    async def interfaces(self, guest: Body) -> list[dict[str, Any]] | None:
        """lo, and eth0, eth1 … for the network devices."""
        return leases.interfaces(self._records, guest)

    async def execute(self, guest: Body, command: list[str], given: str) -> CommandResult:
        """Only what a rule can answer."""
        if command == ["hostname"]:
            return CommandResult(0, f"{guest['config'].get('name') or guest['config'].get('hostname', '')}\n")
        return CommandResult(127, errors=f"{command[0]}: no machine is behind this guest\n")
