"""Files to lessons: ``content/<unit>/<lesson>/lesson.toml`` and one Markdown file a station.

Pure. A mistake raises ContentError, whose message names the file and the line or key.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from courseware.glossary import MARK, named_by
from courseware.served import remembered, tree
from courseware.text_files import nearest
from lessons import figures, predictions, walkthroughs
from lessons.demos import DEMOS
from lessons.demos.values import SettingError, options_of
from lessons.front_matter import ContentError, Place, checked, head_and_lines, read_toml
from lessons.markdown import LAYERS, SLOT, page_html
from lessons.outline import ONCE, Block, SourceError, blocks_of
from lessons.prose import refuse_unknown_terms
from lessons.question_body import QuestionError
from lessons.questions import Question, parse_question

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lessons.demos.demo import Value
    from lessons.walkthroughs import Walkthrough

_NO_UNITS = {"symptoms", "drills"}
"""Folders beside the units."""

_FOLDER = re.compile(r"(?P<place>\d+)-(?P<slug>[a-z0-9-]+)")
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LONGEST_ID = 80
"""Characters that a row of the database has for it."""
_OFFERED = re.compile(r"- (?P<key>[a-z][a-z0-9-]*) => (?P<text>.+)")
_COMPUTED = re.compile(r"⟦(?P<name>[a-z0-9_]+)⟧")

type PartKind = Literal["prose", "check", "predict", "run", "figure", "lab", "demo"]


def is_lab(slug: str) -> bool:
    """Tell whether the course has such a lab."""
    return bool(_ID.fullmatch(slug)) and (tree().labs / slug / "lab.toml").is_file()


def no_such_lab(slug: str) -> str:
    """Return what an author is told who names a lab that there is not."""
    known = sorted(path.parent.name for path in tree().labs.glob("*/lab.toml"))
    return f"no lab is called {slug!r}{nearest(slug, known)}"


@dataclass(frozen=True)
class Part:
    """A piece of a station: prose is HTML, anything else the name of what the page puts there."""

    kind: PartKind
    value: str


@dataclass(frozen=True)
class PredictionText:
    """What a lesson says around a prediction; Markdown. The answer is computed, never written."""

    key: str
    ask: str
    setting: str
    explanation: str
    """Shown last, after the learner has said what they saw. ``⟦name⟧`` is a computed fact."""
    items: Mapping[str, str] = field(default_factory=dict)
    """What a choice or an order offers: texts by the keys that lessons.predictions knows, as the page lists them."""


@dataclass(frozen=True)
class RunText:
    """What a lesson says around a step of its walkthrough; Markdown."""

    key: str
    ask: str
    """What the learner writes down before the step is run; empty if nothing is asked."""
    setting: str
    explanation: str
    """Shown once the step was run. ``⟦name⟧`` is a fact of the walkthrough."""


@dataclass(frozen=True)
class Neighbour:
    """The lesson before or after: a number and a title; a slug once this course has it."""

    number: int
    title: str
    slug: str = ""


@dataclass(frozen=True)
class Station:
    """One idea: a page."""

    slug: str
    title: str
    short: str
    """What the rail calls it."""
    layers: tuple[str, ...]
    minutes: int
    parts: tuple[Part, ...]
    checks: Mapping[str, Question]
    predictions: Mapping[str, PredictionText]
    demos: Mapping[str, Mapping[str, Value]]
    """Where the controls of each demonstration stand at first."""
    runs: Mapping[str, RunText]
    takeaway: str
    """Its one-sentence takeaway, Markdown, for the lesson's front page."""

    @property
    def has_order(self) -> bool:
        """Tell whether something on the page is put in order."""
        asked = [predictions.QUESTIONS[key].kind for key in self.predictions]
        return "order" in asked or any(check.ordering for check in self.checks.values())

    @property
    def has_sketch(self) -> bool:
        """Tell whether something on the page is drawn by its reader."""
        return any(predictions.QUESTIONS[key].axes for key in self.predictions)

    def has_chart(self, *, commits: bool) -> bool:
        """Tell whether a chart may stand on the page: only then is the chart library loaded.

        ``commits`` is true for a reader who may commit predictions, whose reveals draw charts.
        """
        if commits and any(predictions.QUESTIONS[key].is_charted for key in self.predictions):
            return True
        if commits and self.runs:  # A dashboard may be asked for at any of them.
            return True
        return bool(self.demos) or any(
            part.kind == "figure" and figures.FIGURES[part.value].is_plot for part in self.parts
        )


@dataclass(frozen=True)
class Lesson:
    """A sequence of stations."""

    slug: str
    number: int
    title: str
    goal: str
    layers: tuple[str, ...]
    stations: tuple[Station, ...]
    previous: Neighbour | None
    following: Neighbour | None
    walkthrough: Walkthrough | None = None
    """The incident that its stations walk through, if they do."""

    @property
    def minutes(self) -> int:
        return sum(station.minutes for station in self.stations)

    def station(self, slug: str) -> Station | None:
        return next((station for station in self.stations if station.slug == slug), None)

    def with_check(self, key: str) -> Station | None:
        return next((station for station in self.stations if key in station.checks), None)

    def with_prediction(self, key: str) -> Station | None:
        return next((station for station in self.stations if key in station.predictions), None)

    def with_demo(self, key: str) -> Station | None:
        return next((station for station in self.stations if key in station.demos), None)

    def with_run(self, key: str) -> Station | None:
        return next((station for station in self.stations if key in station.runs), None)


@dataclass(frozen=True)
class Unit:
    """A part of the course."""

    slug: str
    title: str
    lessons: tuple[Lesson, ...]


@remembered
def course(root: Path | None = None) -> tuple[Unit, ...]:
    """Return the units of the course, or of another folder, in order. Raises ContentError."""
    root = root or tree().lessons
    units = tuple(_unit(folder) for folder in _numbered(root))
    slugs = [lesson.slug for unit in units for lesson in unit.lessons]
    for slug in slugs:
        if slugs.count(slug) > 1:
            raise ContentError(f"{root}: two lessons are called {slug!r}: rename a folder")
    for lesson in (each for unit in units for each in unit.lessons):
        for other in (lesson.previous, lesson.following):
            if other is not None and other.slug and other.slug not in slugs:
                raise ContentError(
                    f"{root}: {lesson.slug}/lesson.toml: slug: there is no lesson {other.slug!r}: "
                    "leave the slug out until there is"
                )
    return units


def lessons(root: Path | None = None) -> dict[str, Lesson]:
    """Return the lessons by slug."""
    return {lesson.slug: lesson for unit in course(root) for lesson in unit.lessons}


def _numbered(root: Path, suffix: str = "") -> Iterator[Path]:
    """Yield the folders (or ``suffix`` files) called ``NN-slug``, in order."""
    try:
        inside = sorted(root.iterdir(), key=lambda path: path.name)
    except OSError as error:
        raise ContentError(
            f"{root}: cannot be read: {error.strerror}. A folder must stand there"
        ) from error
    slugs: dict[str, Path] = {}
    for path in inside:
        if path.name in _NO_UNITS or not (path.suffix == suffix if suffix else path.is_dir()):
            continue
        if not _FOLDER.fullmatch(path.stem) or len(path.stem) > _LONGEST_ID:
            raise ContentError(f"{path}: call it NN-slug, such as 01-classify")
        if _slug(path) in slugs:
            other = slugs[_slug(path)].name
            raise ContentError(f"{path}: has the slug of {other}, and so its address: rename one")
        slugs[_slug(path)] = path
        yield path


def _slug(path: Path) -> str:
    return path.stem.partition("-")[2]


def title_of_unit(path: Path) -> str:
    """Return the title that a unit's file says. Raises ContentError."""
    data, _ = read_toml(path, {"title": str}, {})
    return str(data["title"])


def _unit(folder: Path) -> Unit:
    return Unit(
        slug=_slug(folder),
        title=title_of_unit(folder / "unit.toml"),
        lessons=tuple(read_lesson(sub) for sub in _numbered(folder)),
    )


def read_lesson(folder: Path) -> Lesson:
    """Return the lesson of a folder. Raises ContentError."""
    data, place = read_toml(
        folder / "lesson.toml",
        {"title": str, "number": int, "goal": str},
        {"previous": dict, "next": dict},
    )
    files = list(_numbered(folder, ".md"))
    if not files:
        raise ContentError(f"{folder}: a lesson needs a station: write 01-slug.md")
    walkthrough = walkthroughs.walkthrough_in(folder)
    sources = [_Source(file, walkthrough) for file in files]
    stations = tuple(source.station() for source in sources)
    _refuse_twice(sources)
    _in_order(folder, walkthrough, stations)
    return Lesson(
        slug=_slug(folder),
        number=data["number"],
        title=data["title"],
        goal=data["goal"],
        layers=tuple(dict.fromkeys(layer for s in stations for layer in s.layers)),
        stations=stations,
        previous=_neighbour(place, "previous", data),
        following=_neighbour(place, "next", data),
        walkthrough=walkthrough,
    )


def _in_order(folder: Path, walk: Walkthrough | None, stations: tuple[Station, ...]) -> None:
    """Refuse a walkthrough whose steps do not stand in the stations, each once and in order."""
    wanted = [step.key for step in walk.steps] if walk is not None else []
    found = [key for station in stations for key in station.runs]
    for here, there in zip_longest(wanted, found):
        if here != there:
            raise ContentError(
                f"{folder}: its stations should run “{here}” next, as {walkthroughs.FILE} says, and run “{there}”"
            )


def _neighbour(place: Place, key: str, data: Mapping[str, Any]) -> Neighbour | None:
    if key not in data:
        return None
    entry = checked(place.at(key), data[key], {"number": int, "title": str}, {"slug": str})
    return Neighbour(**entry)


def read_station(path: Path) -> Station:
    """Return the station of one file, which need not belong to a lesson. Raises ContentError."""
    source = _Source(path, walkthroughs.walkthrough_in(path.parent))
    station = source.station()
    _refuse_twice([source])
    return station


class _Source:
    """One station's file."""

    def __init__(self, path: Path, walkthrough: Walkthrough | None = None) -> None:
        self.path = path
        self.walkthrough = walkthrough
        self.head, self.place, self.first_line, self.lines = head_and_lines(
            path, {"title": str, "short": str, "minutes": int}, {"layers": list, "open": str}
        )
        try:
            self.parts = blocks_of(self.lines, self.first_line)
        except SourceError as error:
            raise self.error(error.line, str(error)) from error

    def error(self, line: int, message: str) -> ContentError:
        return ContentError(f"{self.path}:{line}: {message}")

    def blocks(self, name: str = "") -> Iterator[Block]:
        for part in self.parts:
            if isinstance(part, Block) and name in ("", part.name):
                yield part

    def station(self) -> Station:
        for name in ONCE:
            found = list(self.blocks(name))
            if len(found) != 1:
                line = found[1].line if found else self.first_line
                raise self.error(line, f"a station has one {name}; this one has {len(found)}")
        layers = self.head.get("layers", [])
        for layer in layers:
            if layer not in LAYERS:
                raise self.place.at("layers").error(f"{layer!r} is none of {', '.join(LAYERS)}")
        self._check_keywords()
        return Station(
            slug=_slug(self.path),
            title=self.head["title"],
            short=self.head["short"],
            layers=tuple(layers),
            minutes=self.head["minutes"],
            parts=tuple(self._parts()),
            checks=MappingProxyType({b.argument: self._check(b) for b in self.blocks("check")}),
            predictions=MappingProxyType(
                {b.argument: self._prediction(b) for b in self.blocks("predict")}
            ),
            demos=MappingProxyType({b.argument: self._demo(b) for b in self.blocks("demo")}),
            runs=MappingProxyType({b.argument: self._run(b) for b in self.blocks("run")}),
            takeaway=next(self.blocks("takeaway")).text,
        )

    def _check_keywords(self) -> None:
        refuse_unknown_terms(self.path, self.lines, self.first_line)
        opened = self.head.get("open")
        marks = {named_by(mark) for mark in MARK.finditer("\n".join(self.lines))}
        if opened is not None and opened not in marks:
            raise self.place.at("open").error(
                f"the keyword {opened!r} stands nowhere: write [[{opened}]]"
            )

    def _check(self, block: Block) -> Question:
        self._check_id(block)
        try:
            return parse_question(block.argument, block.options, "\n".join(block.body))
        except QuestionError as error:
            line = block.body_line + error.line if error.line else block.line
            raise self.error(line, f"check “{block.argument}”: {error}") from error

    def _prediction(self, block: Block) -> PredictionText:
        self._check_id(block)
        question = predictions.QUESTIONS.get(block.argument)
        if question is None:
            raise self.error(
                block.line,
                f"nothing computes the prediction “{block.argument}”: "
                f"lessons.predictions has {', '.join(predictions.QUESTIONS)}",
            )
        if "ask" not in block.options:
            raise self.error(block.line, f"prediction “{block.argument}”: write “    ask: …”")
        setting, explanation = _told(block)
        items: dict[str, str] = {}
        if question.options:
            items = self._offered(block, question.options)
            kept = [line for line in setting.splitlines() if not _OFFERED.fullmatch(line)]
            setting = "\n".join(kept).strip()
        if not explanation:
            raise self.error(
                block.line, f"prediction “{block.argument}” explains nothing: write lines with “> ”"
            )
        for match in _COMPUTED.finditer(explanation):
            if match["name"] not in question.facts:
                raise self.error(
                    block.line,
                    f"prediction “{block.argument}” computes no {match['name']!r}, "
                    f"only {', '.join(sorted(question.facts))}",
                )
        if _COMPUTED.search("\n".join([setting, *items.values(), block.options["ask"]])):
            raise self.error(block.line, "what is computed may stand only in the explanation")
        return PredictionText(
            block.argument, block.options["ask"], setting, explanation, MappingProxyType(items)
        )

    def _run(self, block: Block) -> RunText:
        self._check_id(block)
        above = self.parts[: self.parts.index(block)]
        if not any(isinstance(part, str) and part.startswith("## ") for part in above):
            raise self.error(block.line, f"run “{block.argument}”: put a heading (##) above it")
        walk = self.walkthrough
        if walk is None or walk.step(block.argument) is None:
            raise self.error(
                block.line,
                f"no step is called {block.argument!r} in {self.path.parent / walkthroughs.FILE}"
                + nearest(
                    block.argument, () if walk is None else [step.key for step in walk.steps]
                ),
            )
        setting, explanation = _told(block)
        known = walk.facts_by(block.argument)
        for match in _COMPUTED.finditer(explanation):
            if match["name"] not in known:
                raise self.error(
                    block.line,
                    f"run “{block.argument}”: no step until here finds {match['name']!r}, "
                    f"only {', '.join(sorted(known)) or 'nothing'}",
                )
        if _COMPUTED.search(setting + block.options.get("ask", "")):
            raise self.error(block.line, "what is computed may stand only in the explanation")
        return RunText(block.argument, block.options.get("ask", ""), setting, explanation)

    def _demo(self, block: Block) -> Mapping[str, Value]:
        demo = DEMOS.get(block.argument)
        if demo is None:
            known = ", ".join(DEMOS)
            raise self.error(
                block.line, f"no demonstration is called {block.argument!r}; there are {known}"
            )
        try:
            return options_of(demo, block.options)
        except SettingError as fault:
            raise self.error(block.line, f"demo “{demo.id}”: {fault}") from fault

    def _offered(self, block: Block, options: tuple[str, ...]) -> dict[str, str]:
        """Return what a choice or an order offers, each key of ``options`` once."""
        items: dict[str, str] = {}
        for place, line in enumerate(block.body, block.body_line):
            match = _OFFERED.fullmatch(line)
            if match is None:
                continue
            if match["key"] not in options or match["key"] in items:
                raise self.error(
                    place,
                    f"prediction “{block.argument}” offers {', '.join(options)}, each once: "
                    f"write “- {options[0]} => text”",
                )
            items[match["key"]] = match["text"].strip()
        if missing := [key for key in options if key not in items]:
            raise self.error(
                block.line,
                f"prediction “{block.argument}” lacks “- {missing[0]} => text”: "
                f"lessons.predictions computes over {', '.join(options)}",
            )
        return items

    def _check_id(self, block: Block) -> None:
        if not _ID.fullmatch(block.argument) or len(block.argument) > _LONGEST_ID:
            raise self.error(block.line, f"{block.argument!r}: write an id such as flat-tpot")
        if block.argument == "read":
            raise self.error(block.line, "an address of every station ends in “read”: rename it")
        for place, line in enumerate(block.body):
            if MARK.search(line):
                raise self.error(
                    block.body_line + place,
                    f"a keyword unfolds in prose, not inside a {block.name}",
                )

    def _parts(self) -> Iterator[Part]:
        html = page_html(self._markdown(), is_open=self.head.get("open", ""))
        if _COMPUTED.search(html):
            raise self.error(1, "“computed.” numbers may stand only in a prediction's explanation")
        position = 0
        for slot in SLOT.finditer(html):
            if prose := html[position : slot.start()].strip():
                yield Part("prose", prose)
            yield Part(slot["block"], slot["name"])  # type: ignore[arg-type]
            position = slot.end()
        if prose := html[position:].strip():
            yield Part("prose", prose)

    def _markdown(self) -> str:
        """Return the source for the renderer: interactive blocks as slots."""
        lines: list[str] = []
        for part in self.parts:
            if isinstance(part, str):
                lines.append(part)
                continue
            if part.name == "figure" and part.argument not in figures.FIGURES:
                known = ", ".join(figures.FIGURES)
                raise self.error(
                    part.line, f"no figure is called {part.argument!r}; there are {known}"
                )
            if part.name == "lab" and not is_lab(part.argument):
                raise self.error(part.line, no_such_lab(part.argument))
            if part.name in ("check", "predict", "run", "figure", "lab", "demo"):
                lines += ["", f"/// slot | {part.name} {part.argument}", "///", ""]
            else:
                lines += part.source
        return "\n".join(lines)


def _told(block: Block) -> tuple[str, str]:
    """Return a block's setting, and what is told afterwards: the lines that start with ``>``. Markdown."""
    before = [line for line in block.body if not line.startswith(">")]
    after = [line[1:].strip() for line in block.body if line.startswith(">")]
    return "\n".join(before).strip(), "\n".join(after).strip()


def _refuse_twice(sources: list[_Source]) -> None:
    seen: dict[tuple[str, str], str] = {}
    for source in sources:
        for block in source.blocks():
            if block.name in ("check", "predict", "run", "figure", "demo"):
                name = (block.name, block.argument)
                if name in seen:
                    raise source.error(
                        block.line, f"{block.name} “{block.argument}” stands in {seen[name]} too"
                    )
                seen[name] = f"{source.path.name}:{block.line}"
