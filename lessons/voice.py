"""Words that the course does without, found in a text. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

UNWANTED = re.compile(r"\b(simply|just|obviously|powerful|robust)\b|!(?![\[=])", re.IGNORECASE)
_CODE = re.compile(r"`[^`]*`")


def remarks(lines: list[str], first_line: int = 1) -> Iterator[tuple[int, str]]:
    """Yield the number of a line, counted from ``first_line``, and the word in it that the course does without."""
    fenced = False
    for number, line in enumerate(lines, first_line):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            for found in UNWANTED.finditer(_CODE.sub("", line)):
                yield number, found[0]
