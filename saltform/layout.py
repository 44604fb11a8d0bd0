"""Where everything lives below `state_dir`, named once. Pure paths; each room makes its own folders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

KEPT_PLANS = "plans"
STATE_FILE = "terraform.tfstate"
ERRORED_FILE = "errored.tfstate"  # what terraform leaves in its workspace when it can't store a state


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders of one master. `workspaces` and `cache` can be wiped at any time, the rest can't."""

    state_dir: Path

    @property
    def runlog(self) -> Path:
        return self.state_dir / "runs.sqlite"

    @property
    def key(self) -> Path:
        return self.state_dir / "digest.key"

    @property
    def plan_key(self) -> Path:
        """What plans that wait for approval are encrypted with: never in the folder that they are in."""
        return self.state_dir / "plans.key"

    @property
    def modules(self) -> Path:
        return self.state_dir / "modules"

    @property
    def cache(self) -> Path:
        return self.state_dir / "cache"

    @property
    def index(self) -> Path:
        return self.state_dir / "index"

    @property
    def request_lists(self) -> Path:
        """Which minions may ask for which runs, as the pillar said last."""
        return self.state_dir / "requests.json"

    def requests_of(self, minion: str) -> Path:
        """The slots of a minion's requests that it has not confirmed yet."""
        return self.state_dir / "requests" / minion

    def limits(self, provider: str) -> Path:
        return self.state_dir / "limits" / provider

    def states(self, environment: str, component: str) -> Path:
        return self.state_dir / "states" / environment / component

    def errored_state(self, environment: str, component: str) -> Path:
        """A state that terraform could not store: nothing else knows what exists."""
        return self.state_dir / "errored" / environment / f"{component}.tfstate"

    def state_copy(self, environment: str, component: str) -> Path:
        """What the ext_pillar reads of a state that is on a server: its outputs, as they were last."""
        return self.state_dir / "copies" / environment / component / STATE_FILE

    def state_marks(self, environment: str) -> Path:
        """Which versions of the states on servers these copies are of."""
        return self.state_dir / "copies" / environment / "marks.json"

    def moved_state(self, environment: str, component: str, run: str) -> Path:
        """A state as it was before it was moved to another backend."""
        return self.state_dir / "moved-states" / environment / component / f"{run}.tfstate"

    def earlier_states(self, environment: str, component: str, run: str) -> Path:
        """The versions of a state that was moved away, or of the component that had this name before."""
        return self.moved_state(environment, component, run).with_suffix("")

    def provider_lock(self, environment: str, component: str) -> Path:
        return self.state_dir / "provider-locks" / environment / f"{component}.lock.hcl"

    def component_lock(self, environment: str, component: str) -> Path:
        return self.state_dir / "locks" / environment / f"{component}.lock"

    def workspace(self, environment: str, component: str) -> Path:
        return self.state_dir / "workspaces" / environment / component

    def audit_anchor(self, environment: str) -> Path:
        """The newest entry that this master added to an environment's audit chain, apart from the chain."""
        return self.state_dir / "audit" / f"{environment}.json"

    def anchor_lock(self, environment: str) -> Path:
        return self.state_dir / "locks" / f"audit-{environment}"

    def kept_plans(self, run: str) -> Path:
        """The plans of a run that wait for approval, encrypted."""
        return self.run(run) / KEPT_PLANS

    def run(self, run: str) -> Path:
        return self.state_dir / "runs" / run
