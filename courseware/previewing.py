"""One file of the course as a page, as its readers see it and with all that its checks say, whether it belongs to the course or not."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import AnonymousUser
from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.test import RequestFactory
from django.utils.safestring import mark_safe

from courseware.glossary import GlossaryError, glossary
from courseware.harmless import harms
from courseware.models import User
from labs.views.prose import html_of
from lessons import content, pages, predictions, symptoms
from lessons.check_answers import answers_of
from lessons.check_cards import inline, text_of
from lessons.check_lines import Lines
from lessons.content import Lesson
from lessons.front_matter import ContentError, source_of
from lessons.outline import words_in
from lessons.progress import Progress
from lessons.prose import refuse_unknown_terms, text_html
from lessons.voice import remarks
from lessons.walkthroughs import walkthrough_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from lessons.content import Station
    from lessons.walkthroughs import Walkthrough

FAULTS = (ContentError, GlossaryError)
"""What a broken file raises; the message names file and line or key."""
WORDS = {"symptom": (150, 520), "scene.md": (40, 140), "debrief.md": (90, 260)}
"""How many words a page of this kind holds: a symptom, and a drill's two texts."""
_LINE = re.compile(r"\.md:(?P<line>\d+): ")
_STYLE = re.compile(r'<link rel="stylesheet" href="/?static/(?P<path>[^"]+)"[^>]*>')
_LOADED = re.compile(
    r'<(?:script[^>]*src="[^"]*"[^>]*></script>|link rel="(?:preload|icon)"[^>]*>)'
)
_AROUND = 3
"""Lines shown before and after a mistake."""


@dataclass(frozen=True)
class Preview:
    """A file, read and ready for its template, or what is wrong with it."""

    path: Path
    kind: str
    """station, symptom, drill, lab or fault."""
    words: int
    facts: tuple[str, ...]
    """What stands in the bar: length, minutes, words that the course does without."""
    context: dict[str, Any] = field(default_factory=dict)
    fault: str = ""


@dataclass(frozen=True)
class _Answer:
    """A computed answer that no row holds."""

    result: dict[str, Any]


def preview_of(
    path: Path,
    asked: Mapping[str, str] | None = None,
    *,
    answered: Callable[[str], Any] | None = None,
) -> Preview:
    """Return a station, a symptom, a text of a drill or of a lab, read as ``manage.py check`` reads it.

    ``asked`` is the address's query, which may set a demonstration. ``answered`` returns what was computed for a
    figure; without it, it is computed here. A mistake is a preview too: of kind fault.
    """
    try:
        return _read(path, asked or {}, answered or _computed)
    except FAULTS as error:
        return Preview(path, "fault", 0, (), {"around": _around(path, str(error))}, str(error))


def page_of(found: Preview, *, seen: str = "", standalone: bool = False) -> str:
    """Return the page. ``seen`` names the state of the file that it shows; a standalone page loads nothing."""
    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    context = {
        **found.context,
        # Whoever reads is signed in: the author sees the fields that a learner fills.
        "user": User(),
        "preview": found,
        "template": f"preview/_{found.kind}.html",
        "seen": seen,
        "folded": "no" if standalone else "",
    }
    html = render_to_string("preview/page.html", context, request)
    return _on_its_own(html) if standalone else html


def _read(path: Path, asked: Mapping[str, str], answered: Callable[[str], Any]) -> Preview:
    source = source_of(path)
    if path.suffix != ".md":
        raise ContentError(
            f"{path}: a preview shows a text: a station, a symptom, or the brief.md, scene.md or debrief.md of a folder. "
            "For its other files run manage.py check"
        )
    head, lines = _parted(source)
    kind, context, minutes = _context(path, head, asked, answered)
    words = sum(words_in(line) for line in lines)
    least, most = WORDS.get(kind if kind == "symptom" else path.name, (0, 0))
    length = f"{words} words" + (
        f", {least} to {most} wanted" if most and kind in ("symptom", "drill") else ""
    )
    first = len(source.splitlines()) - len(lines) + 1
    unwanted = tuple(f"line {line}: “{word}”" for line, word in remarks(lines, first))
    facts = (length, *([f"{minutes} min"] if minutes else []), *unwanted)
    return Preview(path, kind, words, facts, context)


def _parted(source: str) -> tuple[str, list[str]]:
    lines = source.splitlines()
    if lines[:1] == ["+++"] and "+++" in lines[1:]:
        end = lines.index("+++", 1)
        return "\n".join(lines[1:end]), lines[end + 1 :]
    return "", lines


def _context(
    path: Path, head: str, asked: Mapping[str, str], answered: Callable[[str], Any]
) -> tuple[str, dict[str, Any], int]:
    if re.search(r"^symptom\b", head, re.MULTILINE):
        found = symptoms.read_symptom(path)
        shown = {
            "symptom": found,
            "first": _safe(inline(found.first)),
            "html": _safe(found.html),
        }
        return "symptom", shown, 0
    if head or path.name not in ("brief.md", "scene.md", "debrief.md"):
        station = content.read_station(path)
        walk = walkthrough_in(path.parent)
        return "station", _station(station, walk, asked, answered), station.minutes
    if path.name == "brief.md" or (path.parent / "lab.toml").is_file():
        source = source_of(path)
        refuse_unknown_terms(path, source.splitlines())
        for line, said in harms(source):
            raise ContentError(f"{path}:{line}: {said}")
        return "lab", {"html": html_of(source)}, 0
    return "drill", {"html": _safe(text_html(path))}, 0


def _station(
    station: Station,
    walk: Walkthrough | None,
    asked: Mapping[str, str],
    answered: Callable[[str], Any],
) -> dict[str, Any]:
    lesson = Lesson("preview", 0, "Preview", "", station.layers, (station,), None, None, walk)
    cards = pages.slots(lesson, station, Progress(), answered, lines=Lines(), asked=asked)
    return {
        "lesson": lesson,
        "station": station,
        "slots": [(slot, _template(slot.kind), _after(station, slot)) for slot in cards],
        "has_chart": station.has_chart(commits=False),
        "has_demo": bool(station.demos),
        "has_order": station.has_order,
        "has_sketch": station.has_sketch,
    }


def _template(kind: str) -> str:
    return f"lessons/_{'prediction' if kind == 'predict' else kind}.html"


def _after(station: Station, slot: pages.Slot) -> dict[str, Any] | None:
    """Return what the site keeps back until a learner has answered."""
    if slot.kind == "check":
        asked = station.checks[slot.card.key]
        return {
            "answers": answers_of(asked),
            "hints": [_safe(inline(hint)) for hint in asked.hints],
            "explanation": _safe(inline(asked.explanation)),
        }
    if slot.kind in ("predict", "run"):
        told = station.predictions if slot.kind == "predict" else station.runs
        text = told[slot.card.key].explanation
        marked = re.sub(r"⟦([a-z0-9_]+)⟧", r"`computed.\1`", text)
        return {"answers": (), "explanation": _safe(text_of(marked))}
    return None


def _computed(name: str) -> Any:
    result = predictions.result_of(predictions.all_computations()[name]())
    return _Answer(result.as_json())


def _around(path: Path, fault: str) -> list[dict[str, Any]]:
    """Return the lines around a mistake, if it is one of this file's lines."""
    match = _LINE.search(fault)
    if match is None or not fault.startswith(str(path)):
        return []
    at = int(match["line"])
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    first = max(1, at - _AROUND)
    return [
        {"number": number, "line": line, "here": number == at}
        for number, line in enumerate(lines[first - 1 : at + _AROUND], first)
    ]


def forget_glossary() -> None:
    """Have the glossary read anew: it may have changed since."""
    glossary.cache_clear()


def _on_its_own(html: str) -> str:
    """Return a page with its styles in it and without scripts."""

    def style(match: re.Match[str]) -> str:
        found = finders.find(match["path"])
        if not isinstance(found, str):
            raise FileNotFoundError(f"static/{match['path']}: there is no such file")
        with open(found, encoding="utf-8") as file:  # noqa: PTH123  (a finder gives a string)
            return f"<style>{file.read()}</style>"

    return _LOADED.sub("", _STYLE.sub(style, html))


def _safe(html: str) -> str:
    return mark_safe(html)  # noqa: S308  (the author's own text, rendered by our renderer)
