"""The blocks that text reports are built of, for rich. Text from outside is cleaned and never read as markup."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from saltform.report.words import clean

Cell: TypeAlias = "str | Text"
Section = list[RenderableType]  # printed one below the other; between sections there is an empty line
NEVER_WRAPPED = 32  # letters: names and numbers stay whole, the last column gives way


def plain(value: object, style: str = "") -> Text:
    """A value as one piece of text: strings as they are, everything else as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return Text(clean(text), style=style)


def table(titles: Sequence[str], rows: Iterable[Sequence[Cell]], right: Sequence[str] = ()) -> Table:
    """Columns without lines; one that is empty in every row is left out, the last one takes what is left."""
    lines = [[cell if isinstance(cell, Text) else Text(clean(cell)) for cell in row] for row in rows]
    used = [place for place in range(len(titles)) if any(line[place].plain for line in lines)]
    made = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, collapse_padding=True, header_style="dim")
    for place in used:
        longest = max(line[place].cell_len for line in lines)
        made.add_column(
            titles[place],
            justify="right" if titles[place] in right else "left",
            no_wrap=place != used[-1] and longest <= NEVER_WRAPPED,
            overflow="fold",
        )
    for line in lines:
        made.add_row(*(line[place] for place in used))
    return made


def outputs(found: Mapping[str, Mapping[str, Any]]) -> Section:
    """Outputs by component and name, as inputs refer to them."""
    rows: list[list[Cell]] = [
        [f"{name}.{key}", plain(value)] for name, values in found.items() for key, value in values.items()
    ]
    return [table(["output", "value"], rows)] if rows else []


def error(title: str, found: Mapping[str, Any], log: str = "") -> Section:
    """An error as it is read: what failed, what was found, what to do about it, and where there is more."""
    section: Section = [Text(clean(title), style="bold red")]
    detail = "" if found.get("problems") else str(found.get("detail") or "").strip()
    section += [indented(plain(text)) for text in (str(found.get("summary") or ""), detail) if text]
    for problem in found.get("problems") or []:
        section += _problem(problem)
    if found.get("fix"):
        section.append(_whole("fix", str(found["fix"]), "bold green"))
    if log:
        section.append(_whole("log", log, "dim"))
    return section


def indented(text: Text, by: int = 2) -> Padding:
    return Padding(text, (0, 0, 0, by))


def _problem(problem: Mapping[str, str]) -> Section:
    """A problem in the pillar: where, and below it what."""
    hint = f" (did you mean {problem['nearest']!r}?)" if problem.get("nearest") else ""
    said = f"found {problem.get('found', '')}, expected {problem.get('expected', '')}{hint}"
    where = Text(clean(problem.get("path", "")), style="bold", overflow="fold")
    return [indented(where), indented(Text(clean(said)), 4)]


def _whole(title: str, text: str, style: str) -> Text:
    """Something to copy: left to the terminal to wrap, so that a copied command is still one line."""
    line = Text(f"  {title}: ", style=style, no_wrap=True)
    return line.append(clean(text), style="default not bold")
