"""Prose with a few blocks in it: the pages of symptoms, the texts of drills. Refused with file and line. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from courseware.glossary import glossary, unknown_terms
from courseware.text_files import nearest
from lessons.front_matter import ContentError, source_of
from lessons.markdown import page_html
from lessons.outline import SourceError, blocks_of

if TYPE_CHECKING:
    from pathlib import Path

BLOCKS = ("formula", "table", "side", "note")
"""What such prose may hold."""


def refuse_unknown_terms(path: Path, lines: list[str], first_line: int = 1) -> None:
    """Raise ContentError for the first mark that is no term of the glossary, with the nearest that is one."""
    for number, term in unknown_terms("\n".join(lines)):
        hint = nearest(term, glossary()) or "."
        raise ContentError(
            f"{path}:{first_line + number - 1}: no keyword is called {term!r}{hint} "
            "Write it into lessons/content/glossary.toml"
        )


def prose_html(path: Path, lines: list[str], first_line: int = 1) -> str:
    """Return the HTML of a file's lines from ``first_line`` on. Raises ContentError with file and line."""
    refuse_unknown_terms(path, lines, first_line)
    if not any(line.strip() for line in lines):
        raise ContentError(f"{path}:{first_line}: holds no text: write what the page shows")
    try:
        parts = blocks_of(lines, first_line)
    except SourceError as error:
        raise ContentError(f"{path}:{error.line}: {error}") from error
    shown: list[str] = []
    for part in parts:
        if isinstance(part, str):
            shown.append(part)
            continue
        if part.name not in BLOCKS:
            raise ContentError(
                f"{path}:{part.line}: this kind of page holds no {part.name}, only {', '.join(BLOCKS)}"
            )
        shown += part.source
    return page_html("\n".join(shown))


def text_html(path: Path) -> str:
    """Return the HTML of a text without a head. Raises ContentError with file and line."""
    return prose_html(path, source_of(path).splitlines())
