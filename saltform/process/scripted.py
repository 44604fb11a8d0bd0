"""The twin in memory, for tests of what runs processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from saltform.process.interface import OnBlock, OnLine, Result
from saltform.process.lease import Lease


@dataclass(frozen=True)
class Call:
    """One process that was asked for."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    timeout: float
    name: str


@dataclass(frozen=True)
class Answer:
    """What a scripted process does: the lines it prints, the files it writes in its folder, how it ends."""

    lines: Sequence[str] = ()
    exit_code: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    errors: Sequence[str] = ()  # lines on stderr
    interrupted: str = ""
    until_cancelled: bool = False  # hangs until the cancel event is set, as a long apply does


Script = Callable[[Call], Answer] | Sequence[tuple[str, Answer]]


class ScriptedProcesses:
    """Answers from a script: the first entry whose word is among the arguments, or a function's answer."""

    def __init__(self, script: Script = ()) -> None:
        self._script = script
        self.calls: list[Call] = []

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        timeout: float,
        on_line: OnLine,
        on_block: OnBlock | None = None,
        cancel: threading.Event | None = None,
        grace: float = 30.0,
        pass_fds: Sequence[int] = (),
        lease: Lease | None = None,
        name: str = "",
    ) -> Result:
        call = Call(tuple(argv), Path(cwd), dict(env), timeout, name)
        self.calls.append(call)
        answer = self._answer(call)
        for path, text in answer.files.items():
            (call.cwd / path).parent.mkdir(parents=True, exist_ok=True)
            (call.cwd / path).write_text(text)
        for stream, lines in (("stdout", answer.lines), ("stderr", answer.errors)):
            if on_block is not None and lines:
                on_block("\n".join(lines).encode())
            for line in lines:
                on_line(stream, line)
        interrupted = answer.interrupted
        if answer.until_cancelled and cancel is not None:
            interrupted = "cancelled" if cancel.wait(timeout) else "timeout"
        return Result(answer.exit_code, 0.0, interrupted)

    def _answer(self, call: Call) -> Answer:
        if callable(self._script):
            return self._script(call)
        for word, answer in self._script:
            if word in call.argv:
                return answer
        raise AssertionError(f"no answer in the script for: {' '.join(call.argv)}")
