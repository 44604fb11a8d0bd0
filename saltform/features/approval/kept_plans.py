"""Plans that wait for approval: encrypted in the run's folder, with a key that is not there.

Each is bound to its run and component: a file that was altered, or that belongs to another run, can't be decrypted.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from saltform.engine.services import Services
from saltform.engine.snapshot import forget_kept_plans
from saltform.errors import PlanError
from saltform.files import write_atomic
from saltform.layout import KEPT_PLANS, Layout
from saltform.plan import Plan, digest
from saltform.plan.keeping import dumped, loaded
from saltform.runlog.approvals import REJECTED, Request
from saltform.workspace.fingerprint import private_key

_NONCE = 12
FILE, MEANING, TOKENS = "plan", "meaning", "tokens"


class KeptPlans:
    """The plans of one run."""

    def __init__(self, layout: Layout, run: str) -> None:
        self._folder = layout.kept_plans(run)
        self._run = run
        self._key_path = layout.plan_key

    def keep(self, component: str, plan_file: Path | None, plan: Plan, tokens: Mapping[str, str]) -> str:
        """What the plan means, its minions' tokens, and the file to apply if there is one. The file's digest."""
        self._write(component, MEANING, dumped(plan).encode())
        if tokens:
            self._write(component, TOKENS, json.dumps(dict(tokens)).encode())
        if plan_file is None:
            return ""
        content = plan_file.read_bytes()
        self._write(component, FILE, content)
        return hashlib.sha256(content).hexdigest()

    def restore(self, request: Request, plan_file: Path) -> None:
        """Put the very file that was approved back where it can be applied."""
        content = self._read(request, FILE)
        if hashlib.sha256(content).hexdigest() != request.plan:
            raise _altered(request, "it is not the file whose digest is on record")
        write_atomic(plan_file, content, durable=False)

    def meaning(self, request: Request, key: bytes) -> Plan:
        """What was approved, to compare a later plan with."""
        plan = loaded(self._read(request, MEANING).decode(errors="replace"))
        if digest(plan, key) != request.digest:
            raise _altered(request, "it is not the plan whose digest is on record")
        return plan

    def tokens(self, request: Request) -> dict[str, str]:
        """Those that are in the plan; none for a component without minions."""
        if not self._path(request.component, TOKENS).exists():
            return {}
        tokens: dict[str, str] = json.loads(self._read(request, TOKENS))
        return tokens

    def forget(self, component: str) -> None:
        for kind in (FILE, MEANING, TOKENS):
            self._path(component, kind).unlink(missing_ok=True)

    def _write(self, component: str, kind: str, content: bytes) -> None:
        nonce = os.urandom(_NONCE)
        sealed = AESGCM(private_key(self._key_path)).encrypt(nonce, content, self._bound_to(component, kind))
        write_atomic(self._path(component, kind), nonce + sealed)

    def _read(self, request: Request, kind: str) -> bytes:
        try:
            sealed = self._path(request.component, kind).read_bytes()
            key = AESGCM(private_key(self._key_path))
            return key.decrypt(sealed[:_NONCE], sealed[_NONCE:], self._bound_to(request.component, kind))
        except OSError as error:
            raise _altered(request, f"it can't be read: {error.strerror}") from None
        except (InvalidTag, ValueError):
            raise _altered(request, "it can't be decrypted: it was altered, or is not of this run") from None

    def _bound_to(self, component: str, kind: str) -> bytes:
        return f"{self._run}/{component}/{kind}".encode()

    def _path(self, component: str, kind: str) -> Path:
        return self._folder / f"{component}.{kind}"


def forget_settled(services: Services) -> None:
    """Plans on this disk that nobody will apply, because another master has ended their run or turned them down."""
    log = services.runlog.approvals
    for folder in services.layout.kept_plans("any").parents[1].glob(f"*/{KEPT_PLANS}"):
        run = folder.parent.name
        if services.locks.run_alive(run):
            continue
        requests = log.of_run(run)
        if not requests:
            forget_kept_plans(folder.parent)
        for said in log.decisions(run):
            request = requests.get(said.component)
            if said.decision == REJECTED and request is not None and request.digest == said.digest:
                KeptPlans(services.layout, run).forget(said.component)


def _altered(request: Request, detail: str) -> PlanError:
    return PlanError(
        f"the plan of {request.component} that waits for approval can't be trusted",
        detail,
        f"salt-run infrastructure.abandon {request.run}; then deploy again",
    )
