"""What a new piece begins with: the least that can be shown, and what to write where. Pure."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from courseware.studio.pieces import Piece

_LESSON = """\
title = "A title that says what one can do afterwards"
number = 99
goal = "One sentence: what a reader can do in the end."
"""
_STATION = """\
+++
title = "A sentence that says what is true"
short = "Two words"
layers = []
minutes = 5
+++

/// in-short
One or two sentences: what to keep if one reads no further.
///

## Measure first

Begin with a number that somebody could read on call, and say where it stands.

Then the mechanism, and last what to change.

/// analogy | Somewhere everybody has been
What is alike. Where it breaks: what is not.
///

/// takeaway
What stays when all else is forgotten.
///
"""
_SYMPTOM = """\
+++
symptom = "What one is handed on call, in its own words"
first = "What to measure first, in a line"
layer = "overload"
tier = "enrolled"
evidence = []
+++
Say what is seen, with a number.

## Measure

Say what to read first, and what each reading rules out.

## Mend

Say what helps, and how one sees that it did.
"""
_UNIT = 'title = "A unit"\n'
CLONED = ("lab", "drill")
"""Kinds that begin as a clone: a lab or a drill of which nothing works yet teaches nobody how to write one."""


def starting(piece: Piece) -> Mapping[str, str]:
    """Return the files of a new piece by name; none for a kind that begins as a clone."""
    file = piece.path.rpartition("/")[2]
    return MappingProxyType(
        {
            "lesson": {"lesson.toml": _LESSON, "01-first-station.md": _STATION},
            "symptom": {file: _SYMPTOM},
            "unit": {file: _UNIT},
        }.get(piece.kind, {})
    )
