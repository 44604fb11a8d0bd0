"""The answers to questions as text: status, history, preflight, outputs; and how every answer ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from saltform.errors import EXIT_CHANGES, EXIT_WAITING, BinaryError
from saltform.report import blocks
from saltform.report.blocks import Section
from saltform.report.style import MARKS, WORDS
from saltform.report.words import clean, duration, plural
from saltform.status import Status

Record = Mapping[str, Any]
NARROW = 100  # columns: below it, what can be looked up elsewhere is left out


def status(record: Record, width: int) -> list[Section]:
    """Where every component stands: those that are as they should be first, what wants attention at the end."""
    components = sorted(record.get("components", {}).items(), key=lambda item: item[1].get("status") != "applied")
    titles = ["component", "status", "resources", "applied at", "run", "release", "note"]
    left_out = ("run", "release") if width < NARROW else ()
    rows = []
    for name, item in components:
        notes = (_holder(item.get("locked_by")), str((item.get("error") or {}).get("summary", "")))
        cells: dict[str, blocks.Cell] = {
            "component": name,
            "status": _word(item.get("status", "")),
            "resources": _number(item.get("resources")),
            "applied at": minute(item.get("applied_at")),
            "run": str(item.get("run") or ""),
            "release": str(item.get("release") or "")[:12],
            "note": ", ".join(filter(None, notes)),
        }
        rows.append([cells[title] for title in titles if title not in left_out])
    shown = [title for title in titles if title not in left_out]
    return [[blocks.table(shown, rows, right=["resources"])], *_troubles(components)] if rows else []


def _troubles(components: list[tuple[str, Record]]) -> list[Section]:
    """Why, and the way out, below the table; once for all that have the same trouble."""
    names: dict[tuple[str, str], list[str]] = {}
    errors: dict[tuple[str, str], Record] = {}
    for name, item in components:
        if found := item.get("error"):
            trouble = (str(found.get("summary", "")), str(found.get("fix", "")))
            names.setdefault(trouble, []).append(name)
            errors.setdefault(trouble, found)
    return [
        blocks.error(f"{MARKS[Status.FAILED]} {_together(names[trouble])} can't be {_verb(found)}", found)
        for trouble, found in errors.items()
    ]


def _verb(error: Record) -> str:
    """Without its binary a component's state can be read, and nothing planned on it."""
    return "planned" if error.get("type") == BinaryError.__name__ else "read"


def synced(record: Record) -> list[Section]:
    """What the states say that their copies did not; those in step are only counted."""
    rows: list[list[blocks.Cell]] = []
    for name, item in record.get("components", {}).items():
        if item.get("status") in ("in step", "nothing there"):
            continue
        moved = f"{_number(item.get('was')) or '-'} → {_number(item.get('serial')) or '-'}"
        said = [f"outputs: {', '.join(item['outputs'])}"] if item.get("outputs") else []
        said += [f"+ {address}" for address in item.get("added", ())]
        said += [f"- {address}" for address in item.get("removed", ())]
        said += [str(item["error"].get("summary", ""))] if item.get("error") else []
        rows.append([name, _word(item.get("status", "")), moved, "\n".join(said)])
    return [[blocks.table(["component", "status", "serial", "changed"], rows)]] if rows else []


def history(record: Record) -> list[Section]:
    rows = []
    for item in record.get("runs", []):
        what = item.get("summary") or f"{item.get('verb', '')} {item.get('environment', '')}"
        rows.append([str(item.get("id", "")), str(item.get("author", "")), _word(item.get("status", "")), what])
    return [[blocks.table(["run", "author", "status", "what"], rows)]] if rows else []


def approvals(record: Record) -> list[Section]:
    """What waits for a person, one line for each component."""
    rows: list[list[blocks.Cell]] = []
    for item in record.get("requests", []):
        who = ", ".join(item["by"]) or "anybody"
        have = f"{len(item['approved_by'])} of {item['count']}"
        said = "; ".join([*item["why"], *([item["note"]] if item.get("note") else [])])
        cells = [item["run"], item["author"], f"{item['environment']}/{item['component']}"]
        rows.append([*cells, _word(item["standing"]), have, who, minute(item["expires"]), said])
    titles = ["run", "asked by", "component", "status", "approved", "by", "expires", "why"]
    return [[blocks.table(titles, rows)]] if rows else []


def locks(record: Record) -> list[Section]:
    rows: list[list[blocks.Cell]] = []
    for name, item in record.get("locks", {}).items():
        where = f"process {item.get('process', '?')} on {item.get('host', '?')}"
        notes = [] if item.get("run_alive", True) else [_kept(item.get("kept_by", []))]
        notes += [item["state"]] if item.get("state") else []
        notes += [f"run {run} waits" for run in item.get("waiting", ())]
        holder = [str(item.get(key, "")) for key in ("run", "author")]
        times = [minute(item.get("since")), _second(item.get("heartbeat"))]
        rows.append([name, *holder, where, *times, ", ".join(notes)])
    titles = ["component", "run", "author", "holder", "since", "heartbeat", "note"]
    return [[blocks.table(titles, rows)]] if rows else []


def _kept(processes: list[dict[str, Any]]) -> str:
    """Why a lock is held although its run is gone."""
    if any(item["terraform"] for item in processes) or not processes:
        return "its run is dead: a terraform of it is still finishing"
    listed = ", ".join(f"process {item['process']} ({item['program']})" for item in processes)
    return f"its run has ended, kept by {listed}: unlock it"


def keys(record: Record) -> list[Section]:
    """Each minion with its instance and its key; what is in step first."""
    rows = [
        [
            name,
            minion,
            _word(item.get("status", "")),
            item.get("instance", ""),
            item.get("key", ""),
            item.get("token", ""),
        ]
        for name, minions in record.get("components", {}).items()
        for minion, item in sorted(minions.items(), key=lambda pair: pair[1].get("status") != "in step")
    ]
    return [[blocks.table(["component", "minion", "status", "instance", "key", "token"], rows)]] if rows else []


def strays(record: Record) -> list[Section]:
    rows: list[list[blocks.Cell]] = [
        [item["id"], item["type"], item["component"], item["run"], item["why_not"]] for item in record["strays"]
    ]
    return [[blocks.table(["id", "type", "component", "made by run", "left alone, because"], rows)]] if rows else []


def preflight(record: Record) -> list[Section]:
    """All checks in one table, the same good answer for many components once; then warnings and, last, what failed,
    each with its fix."""
    good: dict[tuple[str, str], list[str]] = {}
    checks = record.get("checks", [])
    for item in checks:
        if item.get("ok") and not item.get("warning"):
            good.setdefault((item.get("check", ""), item.get("detail", "")), []).append(item.get("component") or "")
    warnings = [item for item in checks if item.get("warning")]
    bad = [item for item in checks if not item.get("ok")]
    rows: list[list[blocks.Cell]] = [
        [mark(True), check, _together(names), detail] for (check, detail), names in good.items()
    ]
    for item in [*warnings, *bad]:
        detail = str(item.get("detail", "")) + (f"\nfix: {item['fix']}" if item.get("fix") else "")
        style = "bold yellow" if item.get("warning") else "bold red"
        sign = Text("!", style=style) if item.get("warning") else mark(False)
        rows.append([sign, Text(clean(item.get("check", "")), style=style), item.get("component") or "", detail])
    return [[blocks.table(["", "check", "component", "found"], rows)]] if rows else []


def credentials(record: Record) -> list[Section]:
    """Which source serves which variables, and whom the provider takes us for. There are no values in it."""
    rows: list[list[blocks.Cell]] = []
    for name, item in record.get("components", {}).items():
        said = item.get("who") or item.get("detail") or ""
        said += f"\nfix: {item['fix']}" if item.get("fix") else ""
        rows.append([mark(item["ok"]) if item.get("ok") is not None else "", name, item.get("kind", ""), said])
        rows += [["", "", served["source"], _served(served)] for served in item.get("served", [])]
    return [[blocks.table(["", "component", "provider or source", "found"], rows)]] if rows else []


def _served(served: Record) -> str:
    lease = f", leased for another {duration(served['seconds_left'])}" if served.get("seconds_left") else ""
    return f"{served['purpose']}: {', '.join(served['variables'])}{lease}"


def outputs(record: Record) -> list[Section]:
    return [blocks.outputs(record.get("outputs") or {})]


def other(_record: Record) -> list[Section]:
    """A verb that has nothing but an ending."""
    return []


def notes(record: Record) -> Section:
    return [Text(clean(f"note: {note}"), style="yellow") for note in record.get("notes") or []]


def error(record: Record) -> Section:
    found = record.get("error")
    if not found:
        return []
    return blocks.error(f"{MARKS[Status.FAILED]} {found.get('summary', 'failed')}", {**found, "summary": ""})


def summary(record: Record) -> Section:
    text = record.get("summary")
    if not text:
        return []
    style = "bold green" if record.get("success", True) else "bold red"
    by_code = {EXIT_CHANGES: "bold cyan", EXIT_WAITING: "bold yellow"}
    return [Text(clean(text), style=by_code.get(record.get("retcode", 0), style))]


def mark(ok: bool) -> Text:
    return Text(MARKS[Status.APPLIED], style="green") if ok else Text(MARKS[Status.FAILED], style="bold red")


def _word(word: str) -> Text:
    return Text(clean(word), style=WORDS.get(word, ""))


def _number(value: object) -> str:
    return "" if value is None else str(value)


def minute(moment: object) -> str:
    """2026-11-16T03:30:12Z without what nobody reads in a table."""
    return str(moment or "")[:16].replace("T", " ")


def _second(moment: object) -> str:
    return str(moment or "")[11:19]


def _holder(holder: object) -> str:
    if not holder:
        return ""
    run = holder.get("run") if isinstance(holder, Mapping) else holder
    return f"locked by run {run}"


def _together(names: list[str]) -> str:
    names = [name for name in names if name]
    return ", ".join(names) if len(names) <= 2 else plural(len(names), "component")
