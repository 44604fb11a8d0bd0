"""A minions in memory: keys, and minions that answer as the test says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from threading import Event
from typing import Any

from saltform.minions import ACCEPTED, PENDING, Answer, Target

# A module with an instance for each minion, as far as Terraform can tell.
HOSTS = """
variable "minions" { type = list(string) }
variable "minion_tokens" {
  type      = map(string)
  sensitive = true
}
resource "terraform_data" "host" {
  for_each = toset(var.minions)
  input    = each.key
}
output "minions" { value = { for id, host in terraform_data.host : id => host.id } }
"""


class MemoryMinions:
    """`held` is id → (state of its key, the key). A function of `answers` gets the id, and gives what it returns."""

    def __init__(self) -> None:
        self.held: dict[str, tuple[str, str]] = {}
        self.here: set[str] = set()
        self.answers: dict[str, Callable[[str], Any]] = {}
        self.asked: list[tuple[str, tuple[str, ...]]] = []  # function and minions
        self.deleted: list[str] = []

    def comes(self, *minions: str) -> None:
        """These are accepted, and answer."""
        self.held.update((minion, (ACCEPTED, f"key of {minion}")) for minion in minions)
        self.here.update(minions)

    def knocks(self, minion: str, key: str) -> None:
        """A key that nobody has accepted."""
        self.held.setdefault(minion, (PENDING, key))

    def keys(self) -> Mapping[str, str]:
        return {minion: state for minion, (state, _key) in self.held.items()}

    def matched(self, target: Target) -> frozenset[str]:
        fits = (lambda minion: fnmatchcase(minion, target)) if isinstance(target, str) else target.__contains__
        return frozenset(minion for minion, state in self.keys().items() if state == ACCEPTED and fits(minion))

    def public_key(self, minion: str) -> str:
        return self.held.get(minion, ("", ""))[1]

    def accept(self, minion: str) -> None:
        self.held[minion] = (ACCEPTED, self.held[minion][1])

    def delete(self, minions: tuple[str, ...]) -> None:
        for minion in minions:
            self.held.pop(minion, None)
            self.here.discard(minion)
            self.deleted.append(minion)

    def call(
        self,
        target: Target,
        function: str,
        options: Mapping[str, Any],
        seconds: float,
        cancel: Event,
        arguments: tuple[str, ...] = (),
    ) -> Mapping[str, Answer | None]:
        wanted = sorted(self.matched(target))
        self.asked.append((function, tuple(wanted)))
        says = self.answers.get(function, lambda _minion: True)
        return {minion: Answer(says(minion)) if minion in self.here else None for minion in wanted}


def clean(_minion: str) -> dict[str, Any]:
    """A highstate in which all is well."""
    return {"file_|-a_|-/etc/a_|-managed": {"result": True, "comment": "as it should be", "__id__": "a"}}


def broken(_minion: str) -> dict[str, Any]:
    return {"file_|-a_|-/etc/a_|-managed": {"result": False, "comment": "no such\n  source", "__id__": "a"}}
