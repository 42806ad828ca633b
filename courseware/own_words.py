"""Runs of words that our texts share with another folder's: what was copied, or came out the same. Pure.

Code does not count: fenced blocks, what stands in backticks, tags, addresses, and single words that are written as identifiers,
flags or metrics are passed over, so that a run may go on behind them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

RUN = 9
"""Words in a row from which on a likeness counts."""
SUFFIXES = (".md", ".txt", ".toml", ".html", ".json", ".csv", ".log", ".py", ".js")
MOST_BYTES = 2_000_000
"""A larger file is a recording, not a text."""
_FENCE = re.compile(r"^ {0,3}(```|~~~)")
_CODE = re.compile(r"`[^`]*`|https?://\S+|<[^<>]*>|\{[%{#].*?[%}#]\}")
_TOKEN = re.compile(r"[^\s()\[\]{},;|=“”\"]+")
_IDENTIFIER = re.compile(r"\w_\w|\w::?\w|^--?\w|^/\w|\w/\w+/|\w\(\)|[a-z]{2}[A-Z][a-z]")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True)
class Shared:
    """A run of words that stands in both."""

    path: Path
    line: int
    """Of its first word."""
    words: str
    other: Path
    other_line: int


def words_of(text: str) -> Iterator[tuple[str, int]]:
    """Yield the words of a text in small letters, each with its line, counted from 1; code is passed over."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            for token in _TOKEN.findall(_CODE.sub(" ", line)):
                if not _IDENTIFIER.search(token):
                    for word in _WORD.findall(token):
                        yield word.lower().replace("’", "'"), number


def texts_in(folder: Path) -> Iterator[Path]:
    """Yield the text files under a folder (or the one file), in order."""
    found = [folder] if folder.is_file() else sorted(folder.rglob("*"))
    for path in found:
        if path.is_file() and path.suffix in SUFFIXES and path.stat().st_size <= MOST_BYTES:
            yield path


def shared_runs(ours: Iterable[Path], others: Iterable[Path], run: int = RUN) -> Iterator[Shared]:
    """Yield every run of ``run`` words or more that one of ``ours`` has in common with one of ``others``, once.

    Two runs that overlap are one. Takes some seconds for a few megabytes. Raises ValueError for a run below 2.
    """
    if run < 2:  # noqa: PLR2004  (one word is no run)
        raise ValueError("a run has two words or more")
    known: dict[tuple[str, ...], tuple[Path, int]] = {}
    for path in others:
        listed = list(words_of(_text(path)))
        words = [word for word, _ in listed]
        for start in range(len(words) - run + 1):
            known.setdefault(tuple(words[start : start + run]), (path, listed[start][1]))
    for path in ours:
        yield from _runs(path, known, run)


def _runs(path: Path, known: dict[tuple[str, ...], tuple[Path, int]], run: int) -> Iterator[Shared]:
    listed = list(words_of(_text(path)))
    words = [word for word, _ in listed]
    start = 0
    while start <= len(words) - run:
        found = known.get(tuple(words[start : start + run]))
        if found is None:
            start += 1
            continue
        end = start + run
        while end < len(words) and tuple(words[end - run + 1 : end + 1]) in known:
            end += 1
        yield Shared(path, listed[start][1], " ".join(words[start:end]), *found)
        start = end


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
