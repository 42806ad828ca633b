"""The glossary: one definition a term, and how a term unfolds in a text. Lessons, labs and drills share it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.treeprocessors import Treeprocessor

from courseware.served import remembered, tree
from courseware.text_files import FileError, line_of, lines_of, text_of, toml_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MARK = re.compile(r"\[\[(?P<shown>[^\]|]+)(?:\|(?P<term>[^\]]+))?\]\]")
"""``[[term]]`` or ``[[shown|term]]``."""

_TEXTS = ("means", "unit", "symbol", "metric")
_LISTS = ("also", "see")


class GlossaryError(ValueError):
    """A glossary that cannot be used; the message names the file and the term."""


@dataclass(frozen=True)
class Term:
    """A term of the field, as this course uses it."""

    term: str
    means: str
    """One to three plain sentences; code in backticks."""
    unit: str = ""
    symbol: str = ""
    """How formulas write it: λ, ρ."""
    metric: str = ""
    """The metric, flag or function that shows it."""
    also: tuple[str, ...] = ()
    """Other names under which it is looked up."""
    see: tuple[str, ...] = ()
    """Terms to read beside it."""

    @property
    def slug(self) -> str:
        """Its anchor on the glossary's page."""
        return re.sub(r"[^a-z0-9]+", "-", self.term.lower()).strip("-")


@remembered
def glossary(path: Path | None = None) -> Mapping[str, Term]:
    """Return the terms by name, in the order of the alphabet. Raises GlossaryError."""
    path = path or tree().lessons / "glossary.toml"
    try:
        source = text_of(path)
        data = toml_of(path, source)
    except FileError as error:
        raise GlossaryError(str(error)) from error
    lines = lines_of(source)
    where = {name: f"{path}:{line_of(lines, (name,)) or 1}" for name in data}
    terms = {name: _term(where[name], name, entry) for name, entry in data.items()}
    _refuse_twice(where, terms)
    for term in terms.values():
        for other in term.see:
            if other not in terms:
                raise GlossaryError(
                    f"{where[term.term]}: {term.term}: see: no term is called {other!r}"
                )
    return MappingProxyType(dict(sorted(terms.items(), key=lambda item: item[0].lower())))


def _term(place: str, name: str, entry: Any) -> Term:
    where = f"{place}: {name}"
    if not isinstance(entry, dict):
        raise GlossaryError(f"{where}: write a table: [{name!r}] and means = “…” below it")
    for key, value in entry.items():
        if key not in (*_TEXTS, *_LISTS):
            known = ", ".join((*_TEXTS, *_LISTS))
            raise GlossaryError(f"{where}: {key}: unknown key; there are {known}")
        right = isinstance(value, str) if key in _TEXTS else _is_texts(value)
        if not right:
            kind = "a text" if key in _TEXTS else "a list of texts"
            raise GlossaryError(f"{where}: {key}: write {kind}")
    if not entry.get("means", "").strip():
        raise GlossaryError(f"{where}: means: missing")
    texts = {key: entry.get(key, "").strip() for key in _TEXTS}
    return Term(name, **texts, also=tuple(entry.get("also", ())), see=tuple(entry.get("see", ())))


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _refuse_twice(where: Mapping[str, str], terms: Mapping[str, Term]) -> None:
    owners: dict[str, str] = {}
    for term in terms.values():
        for name in (term.term, *term.also):
            owner = owners.setdefault(name.lower(), term.term)
            if owner != term.term:
                raise GlossaryError(
                    f"{where[term.term]}: {name!r} is a name of {owner!r} and of {term.term!r}"
                )


def unknown_terms(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line (from 1) and name of every mark in a text that is no term of the glossary."""
    known = glossary()
    for mark in MARK.finditer(text):
        name = named_by(mark)
        if name not in known:
            yield text.count("\n", 0, mark.start()) + 1, name


def named_by(mark: re.Match[str]) -> str:
    """Return the name of the term that a mark means: it may be broken over two lines."""
    return " ".join((mark["term"] or mark["shown"]).split())


# ------------------------------------------------------------------------------------------ in a text


class _Unfolding(InlineProcessor):
    """``[[shown|Term]]``: the term unfolds under its own line."""

    def __init__(self, md: markdown.Markdown, is_open: str) -> None:
        super().__init__(MARK.pattern, md)
        self.is_open = is_open

    def handleMatch(  # type: ignore[override]  # noqa: N802  # Python-Markdown's name
        self, m: re.Match[str], data: str
    ) -> tuple[ET.Element, int, int]:
        del data
        term = glossary()[named_by(m)]
        details = ET.Element("details", {"class": "kw"})
        if term.term == self.is_open:
            details.set("open", "open")
        details.set("data-term", term.term)
        ET.SubElement(details, "summary").text = m["shown"]
        body = ET.SubElement(details, "div", {"class": "kw-body"})
        body.text = term.means
        if term.symbol:
            body.text += f" Symbol: {term.symbol}."
        if term.unit:
            body.text += f" Unit: {term.unit}."
        if term.metric:
            ET.SubElement(body, "code").text = markdown.util.AtomicString(term.metric)
        return details, m.start(0), m.end(0)


class _Paragraphs(Treeprocessor):
    """A paragraph cannot hold what unfolds: ``div.p`` can."""

    def run(self, root: ET.Element) -> None:
        for paragraph in root.iter("p"):
            if paragraph.find(".//details") is not None:
                paragraph.tag = "div"
                paragraph.set("class", "p")


class Keywords(Extension):
    """Python-Markdown: marks of terms unfold in place. ``is_open`` names the term that stands unfolded."""

    def __init__(self, is_open: str = "") -> None:
        super().__init__()
        self.is_open = is_open

    def extendMarkdown(self, md: markdown.Markdown) -> None:  # noqa: N802
        md.inlinePatterns.register(_Unfolding(md, self.is_open), "keyword", 175)
        md.treeprocessors.register(_Paragraphs(md), "keyword-paragraphs", 6)


_AROUND_DETAILS = re.compile(r"\s*(</details>)|(<details[^>]*>)\n(?=<summary>)|(</summary>)\n")


def tightened(html: str) -> str:
    """Return HTML without the line breaks that the serialiser puts around what unfolds: before a comma they are spaces."""
    return _AROUND_DETAILS.sub(lambda found: found[1] or found[2] or found[3], html)
