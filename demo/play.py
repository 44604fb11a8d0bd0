"""The play: every step as a person at a shell would do it, with a line that says what to look at."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from demo.stage import MINION, Stage


@dataclass(frozen=True)
class Step:
    """What it shows, in a line that the summary has whole; the command as it is typed; and how that has to end."""

    says: str
    command: str
    expected: int = 0


# The main job, from pillar to infrastructure and back.
MAIN = (
    Step(
        "Check the pillar: everything at once, before anything runs",
        "salt-run infrastructure.validate staging",
    ),
    Step(
        "Which component needs which",
        "salt-run infrastructure.graph staging",
    ),
    Step(
        "What would a deploy do? The unknown is deferred, never guessed",
        "salt-run infrastructure.plan staging",
        expected=2,
    ),
    Step(
        "Deploy: in order, with keys that Vault lends to one process at a time",
        "salt-run infrastructure.deploy staging",
    ),
    Step(
        "The run as a page to keep or send",
        "salt-run infrastructure.report last",
    ),
    Step(
        "The outputs are pillar on the minion",
        f"salt {MINION} pillar.raw terraform",
    ),
    Step(
        "Deploy again: nothing changed, so no terraform is started at all",
        "salt-run infrastructure.deploy staging",
    ),
    Step(
        "Where everything stands",
        "salt-run infrastructure.status staging",
    ),
    Step(
        "Somebody changes something behind Terraform's back",
        "python -m demo.tamper staging",
    ),
    Step(
        "Drift: reality against state, never mixed up with changes of the code",
        "salt-run infrastructure.drift staging",
        expected=2,
    ),
    Step(
        "Put back what drifted, and nothing else",
        "salt-run infrastructure.drift staging components=networking heal=True",
    ),
    Step(
        "Promote what staging has proved, with production's own addresses",
        "salt-run infrastructure.promote staging production components=networking,data",
    ),
)
END = (
    Step(
        "Destroy production first, and what holds data because we say so",
        "salt-run infrastructure.destroy production yes=True preserve_data=False",
    ),
    Step(
        "Then staging, in reverse order",
        "salt-run infrastructure.destroy staging yes=True preserve_data=False",
    ),
    Step(
        "Nothing is left in the cloud",
        "python -m demo.left",
    ),
)


class Play:
    """Runs the steps one after another and remembers how each went."""

    def __init__(self, stage: Stage, keep: bool) -> None:
        self.stage = stage
        self.keep = keep
        self.done: list[tuple[str, float, bool]] = []
        self.reports: list[Path] = []  # of this run: the folder has those of earlier ones, too

    @property
    def went_well(self) -> bool:
        return bool(self.done) and all(good for _, _, good in self.done)

    def all(self) -> None:
        for step in MAIN:
            self.step(step)
        self.keep_reports()
        if not self.keep:
            for step in END:
                self.step(step)

    def step(self, step: Step) -> None:
        """One command, shown as it is typed; its exit code is part of the promise."""
        argv = shlex.split(step.command)
        bold, dim, plain = ("\033[1m", "\033[36m", "\033[0m") if sys.stdout.isatty() else ("", "", "")
        print(f"\n{bold}{len(self.done) + 1}. {step.says}{plain}\n{dim}$ {shlex.join(argv)}{plain}", flush=True)
        began = time.monotonic()
        with subprocess.Popen(argv, env={**os.environ, **self.stage.environment()}) as process:
            process.wait()
        good = process.returncode == step.expected
        self.done.append((step.says, time.monotonic() - began, good))
        if not good:
            print(f"exit code {process.returncode}, expected {step.expected}: see {self.stage.home}/logs")

    def keep_reports(self) -> None:
        """The deploy as a page to look at, also after the demo has cleaned up."""
        folder = self.stage.home / "reports"
        folder.mkdir(exist_ok=True)
        for path in (self.stage.home / "state" / "runs").glob("*/report.*"):
            self.reports.append(Path(shutil.copy(path, folder / f"{path.parent.name}{path.suffix}")))

    def summary(self, seconds: float) -> None:
        wide = max((len(says) for says, *_ in self.done), default=0)
        print(f"\n{'step':<{wide}} {'seconds':>8}")
        for says, took, good in self.done:
            print(f"{says:<{wide}} {took:>8.1f}{'' if good else '  FAILED'}")
        print(f"\n{sum(good for *_, good in self.done)} of {len(self.done)} steps went well in {seconds:.0f} s.")
        for path in sorted(self.reports):
            print(f"report: {os.path.relpath(path, Path.cwd())}")
