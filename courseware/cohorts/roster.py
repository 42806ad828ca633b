"""A roster as people keep it, a table of comma-separated values: read row by row, and what cannot be read is named. Pure."""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

COLUMNS = ("email", "name", "role", "labels", "extra_time")
ROLES = ("learner", "grader", "instructor")
MOST_ROWS = 2000
MOST_LABEL_CHARACTERS = 40
MOST_NAME_CHARACTERS = 80
MOST_EMAIL_CHARACTERS = 254
MOST_EXTRA_TIME_PERCENT = 400
_EMAIL = re.compile(r"[^@\s,;<>\"']+@[^@\s,;<>\"'.]+(\.[^@\s,;<>\"'.]+)+")


@dataclass(frozen=True, slots=True)
class Row:
    """One person of a roster. An empty field says nothing: what is stored stays."""

    line: int
    """Of the text, counted from 1."""
    source: str
    """As it was typed."""
    email: str = ""
    name: str = ""
    role: str = ""
    labels: tuple[str, ...] = ()
    extra_time_percent: int | None = None
    fault: str = ""
    """What is wrong with the row and how to put it right; empty if nothing is."""


@dataclass(frozen=True, slots=True)
class Roster:
    """The rows of a text in their order; or what is wrong with the whole of it."""

    header: str = ""
    rows: tuple[Row, ...] = ()
    fault: str = ""


def labels_in(text: str) -> tuple[str, ...]:
    """Return the labels in a field, in lower case, each once: words between commas, semicolons, bars or spaces."""
    return tuple(dict.fromkeys(re.findall(r"[^\s,;|]+", text.lower())))


def read(text: str) -> Roster:
    """Read a roster. The first line names the columns, in any order; only email must be among them."""
    lines = [(n, line) for n, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if not lines:
        return Roster(fault=f"There is no row here. Begin with the line {','.join(COLUMNS)}.")
    (at, header), rest = lines[0], lines[1:]
    mark = max(",;\t", key=header.count)
    names = [name.strip().lower() for name in _cells(header, mark)]
    if fault := _header_fault(names, at):
        return Roster(header=header, fault=fault)
    if not rest:
        return Roster(header=header, fault="The columns are there, and no row below them.")
    if len(rest) > MOST_ROWS:
        return Roster(
            header=header,
            fault=f"{len(rest):,} rows are more than the {MOST_ROWS:,} that are taken at once. Send them in parts.",
        )
    rows: list[Row] = []
    first: dict[str, int] = {}
    for number, line in rest:
        row = _row(number, line, names, _cells(line, mark))
        if not row.fault and row.email in first:
            row = Row(
                number,
                line,
                email=row.email,
                fault=f"{row.email} stands in line {first[row.email]} already. Keep one of the two.",
            )
        first.setdefault(row.email, number)
        rows.append(row)
    return Roster(header=header, rows=tuple(rows))


def _cells(line: str, mark: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(line), delimiter=mark, skipinitialspace=True), [])
    except csv.Error:
        # A field beyond the reader's limit: one cell, which fits no address.
        return [line]


def _header_fault(names: Sequence[str], line: int) -> str:
    if any("@" in name for name in names):
        return f"Line {line} is a person, not the names of the columns. Put {','.join(COLUMNS)} above it."
    for name in names:
        if name not in COLUMNS:
            near = difflib.get_close_matches(name, COLUMNS, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"Known are {', '.join(COLUMNS)}."
            return f"Line {line} names a column “{name}”, which is not known. {hint}"
        if names.count(name) > 1:
            return f"Line {line} names the column {name} twice. Take one away."
    if "email" not in names:
        return f"Line {line} names no column email, which tells who a row is about. Add it."
    return ""


def _row(number: int, line: str, names: Sequence[str], cells: Sequence[str]) -> Row:
    if not line.replace("\t", " ").isprintable():
        return Row(number, line, fault="It holds a character that cannot be printed. Type it anew.")
    if len(cells) > len(names):
        return Row(
            number,
            line,
            fault=f"{len(cells)} fields, and {len(names)} columns. Put a field that holds a separator in double quotes.",
        )
    said = {name: cell.strip() for name, cell in zip(names, cells, strict=False)}
    email, name = said.get("email", "").lower(), said.get("name", "")
    role, extra = said.get("role", "").lower(), said.get("extra_time", "").removesuffix("%").strip()
    labels = labels_in(said.get("labels", ""))
    fault = ""
    if not _EMAIL.fullmatch(email) or len(email) > MOST_EMAIL_CHARACTERS:
        fault = f"“{email}” is no e-mail address." if email else "The e-mail address is missing."
    elif len(name) > MOST_NAME_CHARACTERS:
        fault = f"The name has {len(name)} characters; {MOST_NAME_CHARACTERS} fit."
    elif role not in {"", *ROLES}:
        fault = f"“{role}” is no role. Write learner, grader or instructor, or leave it empty."
    elif long := [label for label in labels if len(label) > MOST_LABEL_CHARACTERS]:
        fault = f"The label “{long[0]}” has {len(long[0])} characters; {MOST_LABEL_CHARACTERS} fit."
    elif extra and not (extra.isascii() and extra.isdecimal()):
        fault = f"“{extra}” is no extra time. Write whole per cent, such as 25."
    elif extra and int(extra) > MOST_EXTRA_TIME_PERCENT:
        fault = f"Extra time of {extra} % is over {MOST_EXTRA_TIME_PERCENT} %, the most there is."
    return Row(
        number,
        line,
        email=email,
        name=name,
        role=role,
        labels=labels,
        extra_time_percent=int(extra) if extra and not fault else None,
        fault=fault,
    )
