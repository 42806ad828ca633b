"""The gradebook as a table of comma-separated values that spreadsheets open without running anything. Pure."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from courseware.cohorts.gradebook import Cell, Column, Row

_RUN_BY_SPREADSHEETS = ("=", "+", "-", "@", "\t", "\r", "\n")
ABOUT_THEM = ("name", "email", "role", "labels", "extra time, %", "total, mean of labs, 0 to 100")


def harmless(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: behind an apostrophe if it begins like one.

    The characters are those that OWASP names under "CSV Injection"; spaces before them hide nothing.
    """
    return f"'{text}" if text.lstrip(" ").startswith(_RUN_BY_SPREADSHEETS) else text


def table(columns: Sequence[Column], rows: Sequence[Row]) -> str:
    """Return one line a person below a line of headers."""
    out = io.StringIO()
    lines = csv.writer(out)
    heads = [*ABOUT_THEM, *(head for column in columns for head in _heads(column))]
    lines.writerow([harmless(head) for head in heads])
    for row in rows:
        about = (
            *(row.name, row.email, row.role, " ".join(row.labels)),
            *(str(row.extra_time_percent), "" if row.total is None else f"{row.total:.1f}"),
        )
        cells = [
            text
            for column, cell in zip(columns, row.cells, strict=True)
            for text in _texts(column, cell)
        ]
        lines.writerow([harmless(text) for text in (*about, *cells)])
    return out.getvalue()


def _heads(column: Column) -> tuple[str, ...]:
    words: tuple[str, ...] = ("state", "notes")
    if column.kind == "lab":
        words = ("what counts, 0 to 100", "attempts marked", *words, "review points", "of")
    elif column.kind == "lesson":
        words = ("stations done", *words)
    else:
        words = ("points of the best try", *words)
    return tuple(f"{column.title}: {word}" for word in words)


def _texts(column: Column, cell: Cell) -> tuple[str, ...]:
    states = ", ".join([cell.state, *sorted(cell.states - {cell.state})])
    words = (states, "; ".join(cell.notes))
    if column.kind != "lab":
        return (cell.told, *words)
    review = (f"{cell.review[0]:g}", str(cell.review[1])) if cell.review else ("", "")
    return (cell.told, str(cell.attempts), *words, *review)
