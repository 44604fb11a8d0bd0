"""approve and reject: what one person says about the plans of a run that wait for one.

Who that is comes from Salt alone (`services.author`), never from an argument. All that was named is decided, or none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from saltform.config import Environment, select
from saltform.config.approval import Approval
from saltform.engine import audit
from saltform.engine.options import Options, bad
from saltform.engine.services import Services
from saltform.errors import ApprovalRefused, NotAllowed, SaltformError
from saltform.events import approval_tag
from saltform.features.approval.approvers import Allowed, who_may_approve
from saltform.features.approval.request_status import GRANTED, WAITING, RequestStatus, standing
from saltform.runlog import RunRecord, now
from saltform.runlog.approvals import Decision, Request
from saltform.sources.promoted import load_on_record


def rules(services: Services, environment: str) -> Environment:
    """The environment as pillar has it now, modules not looked at: who may approve stands there."""
    return load_on_record(services.pillar, services.runlog, environment).environment(environment)


@dataclass
class Decisions:
    """One person in front of one run."""

    services: Services
    record: RunRecord
    environment: Environment
    requests: Mapping[str, Request]
    made: list[Decision]

    @classmethod
    def about(cls, services: Services, run: Any, components: Any) -> Decisions:
        """The plans of the run that were named, or all that wait."""
        if run in (None, "", "last"):
            raise bad("run", "which run? Name it: another one may have become the last by now")
        record = services.runlog.run(str(run))
        waiting = services.runlog.approvals.of_run(record.id)
        if not waiting or record.status in ("done", "abandoned") or record.rolled_back_by:
            raise SaltformError(
                f"nothing of run {record.id} waits for approval",
                f"{record.verb} {record.environment} is {record.status}",
                "salt-run infrastructure.approvals shows what does",
                run=record.id,
            )
        named = list(Options.parse({"components": components}).components)
        wanted = {name: waiting[name] for name in select(named, waiting)}
        environment = rules(services, record.environment)
        return cls(services, record, environment, wanted, services.runlog.approvals.decisions(record.id))

    def rule(self, name: str) -> Approval:
        return self.environment.approval_of(name)

    def standing(self, name: str) -> RequestStatus:
        rule = self.rule(name)
        return standing(self.requests[name], self.made, rule, self._allowed(rule), now())

    def _allowed(self, rule: Approval) -> Allowed:
        return who_may_approve(self.services, rule, self.record.author, self.environment.name)

    def check_open(self) -> None:
        """What was rejected, has expired or can't be told by this clock is not decided any more."""
        for name, request in self.requests.items():
            found = self.standing(name)
            if found.word not in (WAITING, GRANTED):
                fix = f"salt-run infrastructure.resume {request.run} plans again and asks anew"
                summary = f"{name} of run {request.run} can't be decided"
                raise ApprovalRefused(summary, found.why, fix if found.word == "expired" else "", component=name)

    def check_allowed(self, not_author: bool) -> None:
        """Raise if this person may not decide all of it. Whoever asked may always take it back."""
        who = self.services
        refused = {}
        for name in self.requests:
            rule = self.rule(name) if not_author else replace(self.rule(name), not_author=False)
            why = self._allowed(rule)(who.author, who.origin)
            if why:
                refused[name] = why
        if refused:
            raise NotAllowed(
                f"{who.author} may not decide about run {self.record.id}",
                "\n".join(f"{name}: {why}" for name, why in refused.items()),
                "whoever is named there can; components= names those that you may decide about",
                run=self.record.id,
            )

    def decide(self, decision: str, comment: Any) -> None:
        """On record, in the audit and on the bus."""
        who, moment, said = self.services, now(), str(comment or "")
        mine = [
            Decision(self.record.id, name, request.digest, who.author, who.origin, decision, said, moment)
            for name, request in self.requests.items()
        ]
        verb = "approve" if decision == "approved" else "reject"
        plans = {name: {"status": decision, "plan": request.digest} for name, request in self.requests.items()}
        audit.note(
            who,
            self.record.environment,
            verb,
            self.record.id,
            comment=said,
            asked_by=self.record.author,
            components=plans,
        )
        who.runlog.approvals.decide(mine)
        self.made = who.runlog.approvals.decisions(self.record.id)
        told = {"what": decision, "run": self.record.id, "environment": self.record.environment, "by": who.author}
        who.events.fire(
            approval_tag(self.record.environment, self.record.id),
            told | {"components": sorted(self.requests), "comment": said},
        )
