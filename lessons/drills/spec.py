"""What a drill's folder says, checked: ``drill.toml`` becomes a :class:`DrillSpec` or a SpecError.

A drill is a symptom with several worlds behind it. Measurements have prices, worlds have a mechanism and a fix, and all
of them show the same symptom; what tells them apart is what the learner has to ask for.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from courseware import text_files
from courseware.glossary import unknown_terms
from courseware.served import PINNED, remembered, tree
from labs.specs import SignalSpec, SpecError
from labs.specs.base import Frozen, PositiveSeconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pydantic_core import ErrorDetails

    from courseware.text_files import Key

LEAVE = "leave"
"""The fix of a healthy control: nothing is turned."""
_NUMBER = re.compile(r"[1-9]\.[1-9]\d?")


type Decision = Literal["measure", "strike", "mechanism", "fix"]


def _without_unknown_terms(text: str) -> str:
    for _, term in unknown_terms(text):
        raise ValueError(f"no keyword is called {term!r}: write it into glossary.toml")
    return text


type HintText = Annotated[
    str, Field(min_length=10, max_length=300), AfterValidator(_without_unknown_terms)
]


class Measurement(Frozen):
    """Something to look at first, and its price in seconds of the incident."""

    title: str
    question: str
    """What it answers, in a line."""
    command: str
    cost_s: PositiveSeconds
    signals: tuple[str, ...] = ()
    """None: true, and of no use here."""


class Suspect(Frozen):
    """A world that shows the symptom."""

    title: str
    prior: Annotated[float, Field(gt=0, le=1)]
    served: bool = False
    """Whether a learner meets it, or it is only to be ruled out."""
    healthy: bool = False
    mechanism: str
    fix: str


class Statement(Frozen):
    """A mechanism or a fix to choose."""

    title: str
    note: str = ""


class Symptom(Frozen):
    """What rang, and what it reads once all is well."""

    signal: str
    shows: float
    """Every world reads at least this before a fix."""
    held: float
    """And at most this after the right one."""


class DrillSpec(Frozen):
    number: str
    pinned: str = Field(default="", exclude=True)
    """The digest of the version that it was read from; empty for the one that is served."""
    minutes: Annotated[int, Field(gt=0, le=5)]
    evidence: str
    """The module in lessons.drills.evidence that computes its worlds."""
    symptom: Symptom
    signals: dict[str, SignalSpec]
    measurements: dict[str, Measurement]
    suspects: dict[str, Suspect]
    mechanisms: dict[str, Statement]
    fixes: dict[str, Statement]
    hints: dict[Decision, Annotated[tuple[HintText, ...], Field(min_length=1)]] = Field(
        default_factory=dict
    )
    """What may be asked for before a decision, in the order in which they open; Markdown in a line."""

    @model_validator(mode="after")
    def _refers_to_what_exists(self) -> Self:
        for where, name, known in self._references():
            if name not in known:
                raise ValueError(f"{where} names {name!r}; known: {', '.join(sorted(known))}")
        if not any(each.served and not each.healthy for each in self.suspects.values()):
            raise ValueError("suspects: at least one fault must be served = true")
        if not any(each.healthy for each in self.suspects.values()):
            raise ValueError("suspects: one must be healthy = true, the control")
        return self

    def _references(self) -> Iterator[tuple[str, str, Mapping[str, object]]]:
        yield "symptom.signal", self.symptom.signal, self.signals
        for key, each in self.measurements.items():
            yield from (
                (f"measurements.{key}.signals", name, self.signals) for name in each.signals
            )
        for key, suspect in self.suspects.items():
            yield f"suspects.{key}.mechanism", suspect.mechanism, self.mechanisms
            yield f"suspects.{key}.fix", suspect.fix, self.fixes

    @property
    def key(self) -> str:
        """Return the name under which this version of the drill is found."""
        return f"{self.number}{PINNED}{self.pinned}" if self.pinned else self.number

    @property
    def served(self) -> tuple[str, ...]:
        return tuple(key for key, each in self.suspects.items() if each.served)

    @property
    def priors(self) -> dict[str, float]:
        """Return the prior of each suspect, scaled to sum 1."""
        total = sum(each.prior for each in self.suspects.values())
        return {key: each.prior / total for key, each in self.suspects.items()}

    def hints_for(self, decision: str) -> tuple[str, ...]:
        """Return the hints of a decision; none if it has none, or there is no such decision."""
        return {str(name): texts for name, texts in self.hints.items()}.get(decision, ())

    def world_of(self, seed: int) -> str:
        """Return the served world that a seed stands for."""
        weights = [self.suspects[key].prior for key in self.served]
        rng = random.Random(f"drill:{self.number}:{seed}")
        return rng.choices(self.served, weights)[0]


@remembered
def drills(root: Path | None = None) -> Mapping[str, DrillSpec]:
    """Return the drills by number, in order. Raises SpecError, one line a fault."""
    root = root or tree().lessons / "drills"
    try:
        folders = sorted(root.iterdir(), key=_place)
    except OSError as exc:
        raise SpecError(
            f"{root}: cannot be read: {exc.strerror}. A folder must stand there"
        ) from exc
    return {folder.name: load_drill(folder) for folder in folders}


@remembered
def drill(key: str) -> DrillSpec:
    """Return one drill: the one that is served under this number, or the version ``<number>@<digest>``.

    Raises KeyError if there is no such drill, SpecError for a version that cannot be read.
    """
    if PINNED not in key:
        return drills()[key]
    if not folder_of(key).is_dir():
        raise KeyError(key)
    return load_drill(folder_of(key))


def _place(folder: Path) -> tuple[int, ...]:
    if not _NUMBER.fullmatch(folder.name) or not folder.is_dir():
        raise SpecError(
            f"{folder}: here stand folders called by their symptom's number, such as 4.10"
        )
    return tuple(int(part) for part in folder.name.split("."))


def load_drill(folder: Path) -> DrillSpec:
    """Read ``folder/drill.toml``. Raises SpecError, each line with the file and the key."""
    path = folder / "drill.toml"
    number, _, pinned = folder.name.partition(PINNED)
    name = f"{number}/drill.toml"
    if not path.exists():
        raise SpecError(f"{name}: there is no such file; every drill's folder needs one")
    try:
        source = text_files.text_of(path)
        data = text_files.toml_of(path, source)
    except text_files.FileError as exc:
        raise SpecError(str(exc)) from exc
    try:
        return DrillSpec.model_validate({**data, "number": number, "pinned": pinned})
    except ValidationError as exc:
        lines = text_files.lines_of(source)
        raise SpecError("\n".join(_fault(path, lines, each) for each in exc.errors())) from exc


def _fault(path: Path, lines: Mapping[tuple[Key, ...], int], error: ErrorDetails) -> str:
    """Return file, line, key and what to write, in the words that all files of the course are refused with."""
    said = error["msg"].removeprefix("Value error, ")
    # What is wrong of the whole drill begins with the key that names it.
    keys = error["loc"] or tuple(said.split(" ", 1)[0].rstrip(":").split("."))
    where = f"{'.'.join(map(str, error['loc']))}: " if error["loc"] else ""
    words = {"missing": "missing: write it", "extra_forbidden": "unknown key: take it out"}
    return f"{path}:{text_files.line_of(lines, keys) or 1}: {where}{words.get(error['type'], said)}"


type TextName = Literal["scene.md", "debrief.md"]


def text_of(key: str, name: TextName) -> str:
    """Return a text of a drill's folder."""
    return (folder_of(key) / name).read_text(encoding="utf-8")


def folder_of(key: str) -> Path:
    """Return the folder of a drill, or of one of its versions. Raises KeyError for a version where none are kept."""
    here = tree()
    if PINNED not in key:
        return here.lessons / "drills" / key
    if here.pinned is None:
        raise KeyError(key)
    return here.pinned / key
