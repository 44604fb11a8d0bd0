"""The play: every step as a person at a shell would do it, with a line that says what to look at."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from demo.stage import MINION, Stage

# Salt 3008 writes these to stderr at the end of every salt-run; they are not ours and say nothing.
_NOISE = ("unclosed ",)


class Play:
    """Runs the steps one after another and remembers how each went."""

    def __init__(self, stage: Stage, keep: bool) -> None:
        self.stage = stage
        self.keep = keep
        self.done: list[tuple[str, float, bool]] = []

    @property
    def went_well(self) -> bool:
        return bool(self.done) and all(good for _, _, good in self.done)

    def all(self) -> None:
        """The main job, from pillar to infrastructure and back."""
        self.step(
            "Check the pillar: everything at once, before anything runs", ["infrastructure.validate", "staging"]
        )
        self.step("Which component needs which", ["infrastructure.graph", "staging"])
        self.step(
            "What would a deploy do? What isn't known yet is deferred, never guessed",
            ["infrastructure.plan", "staging"],
            2,
        )
        self.step(
            "Deploy: in order, with keys that Vault lends to one process at a time",
            ["infrastructure.deploy", "staging"],
        )
        self.keep_reports()
        self.step(
            "The outputs are pillar on the minion",
            [],
            command=["salt", MINION, "pillar.get", "terraform:staging:consul", "unmask=True"],
        )
        self.step(
            "Deploy again: nothing changed, so no terraform is started at all", ["infrastructure.deploy", "staging"]
        )
        self.step("Where everything stands", ["infrastructure.status", "staging"])
        self.step(
            "Somebody changes something behind Terraform's back",
            [],
            command=["python", "-m", "demo.tamper", "staging"],
        )
        self.step(
            "Drift: reality against state, never mixed up with changes of the code",
            ["infrastructure.drift", "staging"],
            2,
        )
        self.step(
            "Put back what drifted, and nothing else",
            ["infrastructure.drift", "staging", "components=networking", "heal=True"],
        )
        self.step(
            "Promote what staging has proved: the same releases, with production's own names and addresses",
            ["infrastructure.promote", "staging", "production", "components=networking,data"],
        )
        if not self.keep:
            self.step(
                "Destroy production first, and what holds data only because we say so",
                ["infrastructure.destroy", "production", "yes=True", "preserve_data=False"],
            )
            self.step(
                "Then staging, in reverse order",
                ["infrastructure.destroy", "staging", "yes=True", "preserve_data=False"],
            )
            self.step("Nothing is left in the cloud", [], command=["hive-emulator", "status", *self._data_dir()])

    def step(self, says: str, runner: Sequence[str], expected: int = 0, command: Sequence[str] = ()) -> None:
        """One command, shown as it is typed; its exit code is part of the promise."""
        argv = list(command) or ["salt-run", *runner]
        bold, dim, plain = ("\033[1m", "\033[36m", "\033[0m") if sys.stdout.isatty() else ("", "", "")
        print(f"\n{bold}{len(self.done) + 1}. {says}{plain}\n{dim}$ {shlex.join(argv)}{plain}", flush=True)
        began = time.monotonic()
        with subprocess.Popen(
            argv, env={**os.environ, **self.stage.environment()}, stderr=subprocess.PIPE, text=True
        ) as process:
            for line in process.stderr or ():
                if not line.startswith(_NOISE):
                    print(line, end="", file=sys.stderr, flush=True)
        good = process.returncode == expected
        self.done.append((says, time.monotonic() - began, good))
        if not good:
            print(f"exit code {process.returncode}, expected {expected}: see {self.stage.home}/logs")

    def keep_reports(self) -> None:
        """The deploy as a page to look at, also after the demo has cleaned up."""
        folder = self.stage.home / "reports"
        folder.mkdir(exist_ok=True)
        self.step("The run as a page to keep or send", ["infrastructure.report", "last"])
        for path in (self.stage.home / "state" / "runs").glob("*/report.*"):
            shutil.copy(path, folder / f"{path.parent.name}{path.suffix}")

    def summary(self, seconds: float) -> None:
        print(f"\n{'step':<72} {'seconds':>8}")
        for says, took, good in self.done:
            print(f"{says[:70]:<72} {took:>8.1f} {'' if good else '  FAILED'}")
        reports = sorted((self.stage.home / "reports").glob("*"))
        print(f"\n{sum(good for *_, good in self.done)} of {len(self.done)} steps went well in {seconds:.0f} s.")
        for path in reports:
            print(f"report: {os.path.relpath(path, Path.cwd())}")

    def _data_dir(self) -> list[str]:
        return ["--data-dir", str(self.stage.home / "hive")]
