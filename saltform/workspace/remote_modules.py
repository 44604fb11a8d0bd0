"""Modules that a module calls from elsewhere (git, a registry, an archive): fetched once, by terraform, and kept.

1. The first `init` of a module fetches them into `.terraform/modules`. That folder is copied into the store beside
   the module, and the digest of both is the module's from then on: in fingerprints, releases and promotions.
2. A note in the store leads from the module alone to the two together. Whoever comes with the same module gets the
   same ones without a process, wherever their branches point by now. `upgrade` fetches them anew.
3. With them at hand, `.terraform/modules` is laid out from the store and `init` is told to fetch none: their source
   may be gone.

Terraform and OpenTofu have a registry each, so there is a note for each product.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from saltform.errors import ModuleError
from saltform.files import alone, write_atomic
from saltform.workspace.modules import REMOTE, Module, Modules, digest_of

MANIFEST = "modules.json"  # terraform's own: which call is in which folder


class RemoteModules:
    """Those of one module that calls some, for one product."""

    def __init__(self, modules: Modules, module: Module, product: str) -> None:
        self._modules = modules
        self._module = module
        self._note = modules.store / f"{module.digest}.{product}"

    def kept(self) -> Module:
        """The module with those that were fetched for it; as it is when none were, or they are not in the store."""
        try:
            return self._modules.kept(self._note.read_text(), self._module.entry)
        except (OSError, ModuleError):
            return self._module

    def alone(self) -> contextlib.AbstractContextManager[None]:
        """One fetches, the others wait for what it has kept."""
        return alone(self._note.with_name(f"{self._note.name}.lock"))

    def keep(self, fetched: Path, for_all: bool = True) -> Module:
        """The module with what terraform has fetched for it, in the store; and `for_all` who come after."""
        if not (fetched / MANIFEST).is_file():
            raise ModuleError(
                "terraform left no list of the modules that it fetched",
                f"{fetched / MANIFEST} is missing",
                "salt-run infrastructure.upgrade fetches them anew",
            )
        module = self._module
        digest = digest_of(fetched, [fetched], f"{module.digest} {module.entry}")
        parts = {"tree": (module.tree, [module.tree]), REMOTE: (fetched, [fetched])}
        self._modules.add(digest, parts, module.interface)
        if for_all:
            write_atomic(self._note, digest.encode())
        return self._modules.kept(digest, module.entry)
