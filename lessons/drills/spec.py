"""What a drill's folder says, checked: ``drill.toml`` becomes a :class:`DrillSpec` or a SpecError.

A drill is a symptom with several worlds behind it. Measurements have prices, worlds have a mechanism and a fix, and all
of them show the same symptom; what tells them apart is what the learner has to ask for.
"""

from __future__ import annotations

import random
import tomllib
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator

from labs.specs import SignalSpec, SpecError
from labs.specs.base import Frozen, PositiveSeconds
from lessons.content import DRILLS_DIR

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

LEAVE = "leave"
"""The fix of a healthy control: nothing is turned."""


type Decision = Literal["measure", "strike", "mechanism", "fix"]
type HintText = Annotated[str, Field(min_length=10, max_length=300)]


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
    version: Annotated[int, Field(ge=1)]
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


@cache
def drills(root: Path = DRILLS_DIR) -> Mapping[str, DrillSpec]:
    """Return the drills by number, in order. Raises SpecError, one line a fault."""
    folders = sorted(root.iterdir(), key=lambda path: [int(part) for part in path.name.split(".")])
    return {folder.name: load_drill(folder) for folder in folders}


def load_drill(folder: Path) -> DrillSpec:
    """Read ``folder/drill.toml``. Raises SpecError, each line with the file and the key."""
    path = folder / "drill.toml"
    name = f"{folder.name}/drill.toml"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as exc:
        raise SpecError(f"{name}: there is no such file; every drill's folder needs one") from exc
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise SpecError(f"{name}: not valid TOML: {exc}") from exc
    try:
        return DrillSpec.model_validate({"number": folder.name, **data})
    except ValidationError as exc:
        faults = [
            f"{name}: {'.'.join(str(part) for part in error['loc']) or 'the drill'}: {error['msg']}"
            for error in exc.errors()
        ]
        raise SpecError("\n".join(faults)) from exc


type TextName = Literal["scene.md", "debrief.md"]


def text_of(number: str, name: TextName) -> str:
    """Return a text of a drill's folder."""
    return (DRILLS_DIR / number / name).read_text(encoding="utf-8")
