"""Search over symptoms, lessons, glossary and labs: everything that may be read before it is tried. Pure.

A query's every word must begin a word of the entry. Words of the title count for more than words of the text; of a
lab only title, summary and alarm are searched, since all else would tell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from courseware.glossary import MARK, glossary
from courseware.served import remembered
from labs.catalogue import labs
from lessons.content import course
from lessons.symptoms import symptoms

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS = ("Symptoms", "Lessons", "Glossary", "Labs")
MOST = 8
"""Of one kind."""
_WORD = re.compile(r"[\w.+-]*\w", re.UNICODE)
_TAG = re.compile(r"<[^>]+>")
_IN_TITLE, _WHOLE_WORD, _IN_TEXT = 8, 2, 1


@dataclass(frozen=True)
class Entry:
    """Something that can be found."""

    kind: str
    title: str
    note: str
    """The line below the title."""
    address: tuple[str, ...]
    """The name of its page, then the arguments; an anchor begins with #."""
    title_words: tuple[str, ...]
    text_words: frozenset[str]


def words_of(text: str) -> list[str]:
    """Return the words of a text, small; a flag or a metric also by its parts."""
    found = _WORD.findall(text.lower())
    return [*found, *(part for word in found for part in re.split(r"[._+-]", word) if part != word)]


def search(query: str) -> dict[str, list[Entry]]:
    """Return what fits a query, best first, by kind; kinds without a find are left out."""
    wanted = _WORD.findall(query.lower())[:8]
    if not wanted:
        return {}
    found: dict[str, list[tuple[int, int, Entry]]] = {}
    for place, entry in enumerate(index()):
        score = _score(entry, wanted)
        if score:
            found.setdefault(entry.kind, []).append((-score, place, entry))
    return {
        kind: [entry for _, _, entry in sorted(found[kind], key=lambda each: each[:2])[:MOST]]
        for kind in KINDS
        if kind in found
    }


def _score(entry: Entry, wanted: list[str]) -> int:
    total = 0
    for word in wanted:
        best = 0
        for mine in entry.title_words:
            if mine.startswith(word):
                best = max(best, _IN_TITLE + _WHOLE_WORD * (mine == word))
        if not best and any(mine.startswith(word) for mine in entry.text_words):
            best = _IN_TEXT
        if not best:
            return 0
        total += best
    return total


@remembered
def index() -> tuple[Entry, ...]:
    """Return all entries, in the order of the course."""
    return tuple(chain(_symptoms(), _stations(), _terms(), _labs()))


def _entry(kind: str, title: str, note: str, address: tuple[str, ...], text: str) -> Entry:
    return Entry(
        kind, title, note, address, tuple(words_of(title)), frozenset(words_of(f"{note} {text}"))
    )


def _symptoms() -> Iterator[Entry]:
    for each in symptoms().values():
        title = f"{each.number} {each.symptom}"
        text = f"{each.layer} {each.text if each.tier == 'public' else ''}"
        yield _entry("Symptoms", title, each.first, ("lookup:symptom", each.number), text)


def _stations() -> Iterator[Entry]:
    for unit in course():
        for lesson in unit.lessons:
            address = ("lessons:lesson", lesson.slug)
            yield _entry("Lessons", lesson.title, lesson.goal, address, unit.title)
            for station in lesson.stations:
                prose = " ".join(part.value for part in station.parts if part.kind == "prose")
                yield _entry(
                    "Lessons",
                    station.title,
                    f"{lesson.title}, {station.short}",
                    ("lessons:station", lesson.slug, station.slug),
                    _TAG.sub(" ", prose),
                )


def _terms() -> Iterator[Entry]:
    for term in glossary().values():
        title = term.term if not term.symbol else f"{term.term} ({term.symbol})"
        text = " ".join((term.metric, *term.also))
        yield _entry("Glossary", title, term.means, ("lookup:glossary", f"#{term.slug}"), text)


def _labs() -> Iterator[Entry]:
    for slug, spec in labs().items():
        text = f"lab {spec.number} {spec.alarm_title}"
        yield _entry("Labs", spec.title, MARK.sub("", spec.summary), ("labs:lab", slug), text)
