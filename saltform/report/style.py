"""How each status looks: one mark and one colour, the same on a terminal, in the page and in the graph."""

from __future__ import annotations

from saltform.status import Status

MARKS = {
    Status.PENDING: "·",
    Status.RUNNING: "▸",
    Status.PLANNED: "○",
    Status.APPLIED: "✓",
    Status.UNCHANGED: "=",
    Status.DEFERRED: "◌",
    Status.AWAITING_APPROVAL: "?",
    Status.CONVERGING: "▸",
    Status.DESTROYED: "✓",
    Status.ROLLED_BACK: "↶",
    Status.SKIPPED: "-",
    Status.FAILED: "✗",
    Status.CANCELLED: "✗",
}

# Names of the terminal's own sixteen colours, so that they are readable on its own background.
STYLES = {
    Status.PENDING: "dim",
    Status.RUNNING: "blue",
    Status.PLANNED: "cyan",
    Status.APPLIED: "green",
    Status.UNCHANGED: "dim",
    Status.DEFERRED: "magenta",
    Status.AWAITING_APPROVAL: "yellow",
    Status.CONVERGING: "blue",
    Status.DESTROYED: "green",
    Status.ROLLED_BACK: "yellow",
    Status.SKIPPED: "yellow",
    Status.FAILED: "bold red",
    Status.CANCELLED: "bold yellow",
}

# Fill and line on a white page.
COLOURS = {
    Status.PENDING: ("#f6f8fa", "#8c959f"),
    Status.RUNNING: ("#ddf4ff", "#0969da"),
    Status.PLANNED: ("#e0f7fa", "#0e7490"),
    Status.APPLIED: ("#dafbe1", "#1a7f37"),
    Status.UNCHANGED: ("#f6f8fa", "#8c959f"),
    Status.DEFERRED: ("#fbefff", "#8250df"),
    Status.AWAITING_APPROVAL: ("#fff8c5", "#9a6700"),
    Status.CONVERGING: ("#ddf4ff", "#0969da"),
    Status.DESTROYED: ("#eaeef2", "#424a53"),
    Status.ROLLED_BACK: ("#fff8c5", "#9a6700"),
    Status.SKIPPED: ("#fff8c5", "#bf8700"),
    Status.FAILED: ("#ffebe9", "#cf222e"),
    Status.CANCELLED: ("#fff1e5", "#bc4c00"),
}

# Words that are not a step's status: of a component between runs, and of a run.
WORDS = {
    "applied": "green",
    "never applied": "dim",
    "pending change": "cyan",
    "changed outside": "yellow",
    "half done": "bold red",
    "unreadable": "bold red",
    "no usable binary": "bold red",
    "orphan": "magenta",
    "done": "green",
    "running": "blue",
    "failed": "bold red",
    "cancelled": "yellow",
    "dead": "bold red",
    "waiting": "yellow",
    "granted": "green",
    "rejected": "bold red",
    "expired": "bold yellow",
    "clean": "green",
    "drifted": "bold yellow",
    "acknowledged": "cyan",
    "unknown": "bold red",
    "in step": "green",
    "no minion": "bold yellow",
    "no instance": "bold yellow",
    "not made yet": "dim",
}
