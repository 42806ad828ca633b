"""Files that authors write, as text and as TOML: read, or refused with the line and what to do. Pure."""

from __future__ import annotations

import difflib
import re
import tomllib
import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

type Key = str | int
"""A key of a table, or a place in an array of tables, from 0."""

MOST_BYTES = 200_000
"""Ten times the longest file of the course."""
_TABLE = re.compile(r"\s*(?P<open>\[\[?)\s*(?P<name>[^\[\]]+?)\s*\]\]?\s*(#.*)?")
_ENTRY = re.compile(r"""\s*(?P<name>(?:[\w.-]+|"[^"]*"|'[^']*')+?)\s*=""")
_NAME = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")
_AT = re.compile(r" \(at (?:line (?P<line>\d+), column \d+|end of document)\)$")


class FileError(ValueError):
    """A file that cannot be read; the message names the file, the line and what to do."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return “; did you mean …?” with the known word that is most like this one, or nothing if none is."""
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def text_of(path: Path) -> str:
    """Return a file's text with lines that end in a line feed; a byte-order mark is left out. Raises FileError."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise FileError(
            f"{path}: cannot be read: {error.strerror}. A text must stand there"
        ) from error
    if len(raw) > MOST_BYTES:
        raise FileError(f"{path}: holds {len(raw):,} bytes; split it: {MOST_BYTES:,} at most")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise FileError(f"{path}:{line}: is not UTF-8: save the file in UTF-8") from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for number, line_text in enumerate(text.split("\n"), 1):
        for place, sign in enumerate(line_text, 1):
            if sign != "\t" and unicodedata.category(sign) in {"Cc", "Zl", "Zp"}:
                raise FileError(
                    f"{path}:{number}: sign {place} is U+{ord(sign):04X}, which nobody sees: take it out"
                )
    return text


def toml_of(path: Path, source: str, first_line: int = 1) -> dict[str, Any]:
    """Return the tables of a source that begins at ``first_line`` of its file. Raises FileError."""
    try:
        return tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        said, match = str(error), _AT.search(str(error))
        lines = max(1, len(source.splitlines()))
        line = int(match["line"]) if match and match["line"] else lines
        words = said[: match.start()] if match else said
        at = first_line + min(line, lines) - 1
        raise FileError(f"{path}:{at}: not valid TOML: {words}") from error


def lines_of(source: str, first_line: int = 1) -> Mapping[tuple[Key, ...], int]:
    """Return the line on which each table and key of a TOML source begins, by the keys that lead to it.

    A key within a value of one line has that value's line: ask :func:`line_of`.
    """
    found: dict[tuple[Key, ...], int] = {}
    counts: dict[tuple[Key, ...], int] = {}
    table: tuple[Key, ...] = ()
    for number, line in enumerate(source.splitlines(), first_line):
        if match := _TABLE.fullmatch(line):
            table = ()
            names = _names(match["name"])
            for name in names[:-1]:
                table += (name,)
                table += (counts[table] - 1,) if table in counts else ()
            table += names[-1:]
            if match["open"] == "[[":
                counts[table] = counts.get(table, 0) + 1
                found.setdefault(table, number)
                table += (counts[table] - 1,)
            found.setdefault(table, number)
        elif match := _ENTRY.match(line):
            found.setdefault((*table, *_names(match["name"])), number)
    return found


def _names(dotted: str) -> tuple[str, ...]:
    return tuple(name.strip("\"'") for name in _NAME.findall(dotted))


def line_of(lines: Mapping[tuple[Key, ...], int], keys: tuple[Key, ...]) -> int | None:
    """Return the line of the innermost of ``keys`` that has one; None if none has."""
    for end in range(len(keys), 0, -1):
        if keys[:end] in lines:
            return lines[keys[:end]]
    return None
