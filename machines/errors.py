"""What can't be done here; the text says what is missing and the way out."""

from __future__ import annotations


class MachinesError(Exception):
    """A machine or a network can't be made, started or removed."""


class UnsupportedHost(MachinesError):
    """This computer can't run machines at all."""


class RulesRefused(MachinesError):
    """nftables took none of the rules; those before are still in force."""
