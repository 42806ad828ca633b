"""A whole lab: its worlds, what can be measured, changed and named, and what is true; read from ``lab.toml``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from courseware import text_files
from courseware.served import PINNED
from labs.specs.base import Bound, Frozen, Layer, Seconds, SpecError, unit_word
from labs.specs.live import Live, merged
from labs.specs.panels import with_panels
from labs.specs.world import (
    Admission,
    Fleet,
    MitigationSpec,
    Slo,
    Timeline,
    Traffic,
    WindowsSpec,
    World,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from pydantic_core import ErrorDetails

    from courseware.text_files import Key

    type Lines = Mapping[tuple[Key, ...], int]


class Alarm(Frozen):
    """The page: a signal beyond a value. Its unit and its words are the signal's own."""

    signal: str
    above: float | None = None
    below: float | None = None
    window_s: Annotated[int, Field(gt=0)]

    @model_validator(mode="after")
    def _one_side(self) -> Self:
        if (self.above is None) == (self.below is None):
            raise ValueError("an alarm has above or below, one of them")
        return self

    @property
    def target(self) -> float:
        """Return the value that the signal must not pass."""
        return (self.above if self.above is not None else self.below) or 0.0

    def rings(self, value: float | str | None) -> bool:
        """Return whether a reading is on the wrong side; what was not measured does not ring."""
        if not isinstance(value, float | int):
            return False
        return value > self.target if self.above is not None else value < self.target

    def held(self, value: float | str | None) -> bool:
        """Return whether a reading was taken and is on the right side."""
        return isinstance(value, float | int) and not self.rings(value)


class MechanismCredit(Frozen):
    mechanism: str
    credit: Annotated[float, Field(gt=0, le=1)]


class ChainLink(Frozen):
    """One link of the proof: any of these signals, in this role."""

    signals: Annotated[tuple[str, ...], Field(min_length=1)]
    role: Literal["shows", "rules_out"]
    rules_out: str | None = None
    cause: bool = False

    @model_validator(mode="after")
    def _names_the_rival(self) -> Self:
        if (self.role == "rules_out") != (self.rules_out is not None):
            raise ValueError("rules_out names a hypothesis exactly when role is 'rules_out'")
        return self


class Answer(Frozen):
    """What is true in a hypothesis, for marking."""

    layer: Layer
    components: tuple[tuple[str, ...], ...]
    """Accepted sets of nodes of the causal graph."""
    mechanisms: tuple[MechanismCredit, ...]
    scope: Literal["fault", "healthy"] = "fault"
    """``healthy``: the alarm is a false one, and the right answer is that nothing is wrong."""
    parameter: str | None = None
    """A signal whose value at the page the learner is asked for along with the mechanism."""
    parameter_tolerance: Annotated[float, Field(gt=0)] = 0.2
    chain: tuple[ChainLink, ...]
    cause_gone: tuple[Bound, ...] = ()
    """All must hold at the end of the window; muting the alarm does not make them hold."""
    relapse_replay: bool = False
    """Whether the trigger comes again after the fix, which must then heal by itself."""


class Hypothesis(Frozen):
    title: str
    prior: Annotated[float, Field(gt=0, le=1)]
    served: bool = False
    """Whether learners meet this world, or it is only a rival to tell apart."""
    world: World
    answer: Answer


class SignalSpec(Frozen):
    title: str
    unit: str
    kind: Literal["number", "category"] = "number"
    transform: Literal["id", "ln", "ln1p", "logit"] = "id"
    """Scale on which two readings are compared; a category is only equal or not."""
    resolution: Annotated[float, Field(gt=0)] = 1.0
    healthy_decimals: Annotated[int, Field(ge=0, le=4)] = 2


class InstrumentSpec(Frozen):
    title: str
    question: str
    command: str
    cost_s: Seconds
    disturbance_s: Annotated[float, Field(ge=0)] = 0.0
    slowdown: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """How much longer every engine step takes while it measures."""
    signals: tuple[str, ...] = ()
    """Those that its answer can show; none for one that has nothing to say in this lab."""
    is_alarm: bool = False

    @property
    def is_panel(self) -> bool:
        """Whether it is a panel of the dashboard that every lab has."""
        return self.command.startswith("dashboard ")


class ChangeSpec(Frozen):
    title: str
    note: str
    command: str
    cost_s: Seconds


class Mechanism(Frozen):
    title: str


class Node(Frozen):
    """A node of the causal graph; edges run from cause to effect."""

    title: str
    causes: tuple[str, ...] = ()
    nameable: bool = True
    """The alarm and containers stand in the graph but cannot be named."""


class Prediction(Frozen):
    question: str
    unit: Annotated[str, AfterValidator(unit_word)]
    """Written behind the number; a share has none."""
    at_s: Seconds
    """The world, left alone, is measured here."""


class CheatCeiling(Frozen):
    """A cheat that honestly earns more here than elsewhere, and why."""

    ceiling: Annotated[float, Field(ge=0, le=100)]
    why: str


class LabSpec(Frozen):
    slug: str
    pinned: str = Field(default="", exclude=True)
    """The digest of the version that it was read from; empty for the one that is served."""
    live: Live | None = None
    """What it needs of a real engine; None for the lab as it is simulated."""
    number: str
    title: str
    summary: str
    minutes: Annotated[int, Field(gt=0)]
    diagnosis_budget_s: Annotated[int, Field(gt=0)]
    timeline: Timeline
    windows: WindowsSpec = WindowsSpec()
    alarm: Alarm
    admission: Admission = Admission()
    slos: dict[str, Slo]
    fleet: Fleet
    traffic: Traffic
    hypotheses: dict[str, Hypothesis]
    signals: dict[str, SignalSpec]
    instruments: dict[str, InstrumentSpec]
    changes: dict[str, ChangeSpec]
    nodes: dict[str, Node]
    mechanisms: dict[str, Mechanism]
    prediction: Prediction
    mitigation: MitigationSpec
    cheats: dict[str, CheatCeiling] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _refers_to_what_exists(self) -> Self:
        for where, name, known in self._references():
            if name not in known:
                raise ValueError(f"{where} names {name!r}; known: {', '.join(sorted(known))}")
        if len(self.hypotheses) < 2:  # noqa: PLR2004
            raise ValueError("hypotheses: a lab needs at least two worlds behind its alarm")
        if not any(hypothesis.served for hypothesis in self.hypotheses.values()):
            raise ValueError("hypotheses: at least one must be served = true")
        if not any(each.is_alarm for each in self.instruments.values() if not each.is_panel):
            raise ValueError("instruments: one must be is_alarm = true, the panel that paged")
        for key, hypothesis in self.hypotheses.items():
            if hypothesis.answer.scope == "fault" and not hypothesis.answer.cause_gone:
                raise ValueError(f"hypotheses.{key}.answer: a fault needs cause_gone")
        return self

    def _references(self) -> Iterator[tuple[str, str, Collection[str]]]:
        """Return (where it stands, the name, the names that exist) for every name that one part uses of another."""
        for key, node in self.nodes.items():
            yield from ((f"nodes.{key}.causes", name, self.nodes) for name in node.causes)
        for key, instrument in self.instruments.items():
            where = f"instruments.{key}.signals"
            yield from ((where, name, self.signals) for name in instrument.signals)
        yield "alarm.signal", self.alarm.signal, self.signals
        for key in ("healthy", "healthy_mean", "page", "hurt"):
            bounds: tuple[Bound, ...] = getattr(self.admission, key)
            yield from ((f"admission.{key}", bound.signal, self.signals) for bound in bounds)
        for key, hypothesis in self.hypotheses.items():
            yield from self._named_by(f"hypotheses.{key}.answer", hypothesis.answer)

    def _named_by(self, where: str, answer: Answer) -> Iterator[tuple[str, str, Collection[str]]]:
        if answer.parameter is not None:
            yield f"{where}.parameter", answer.parameter, self.signals
        for accepted in answer.components:
            yield from ((f"{where}.components", name, self.nodes) for name in accepted)
        for credit in answer.mechanisms:
            yield f"{where}.mechanisms", credit.mechanism, self.mechanisms
        for link in answer.chain:
            yield from ((f"{where}.chain", name, self.signals) for name in link.signals)
            if link.rules_out is not None:
                yield f"{where}.chain", link.rules_out, self.hypotheses
        for predicate in answer.cause_gone:
            yield f"{where}.cause_gone", predicate.signal, self.signals

    @property
    def key(self) -> str:
        """Return the name under which the catalogue finds this version of the lab."""
        lab = f"{self.slug}{PINNED}{self.pinned}" if self.pinned else self.slug
        return f"{lab}{LIVE}" if self.live is not None else lab

    @property
    def priors(self) -> dict[str, float]:
        """Return the prior of each hypothesis, scaled to sum 1."""
        total = sum(hypothesis.prior for hypothesis in self.hypotheses.values())
        return {key: hypothesis.prior / total for key, hypothesis in self.hypotheses.items()}

    @property
    def alarm_title(self) -> str:
        """Return what the alarm measures, in words."""
        return self.signals[self.alarm.signal].title

    @property
    def alarm_unit(self) -> str:
        """Return what is written behind the alarm's number; '' for a share."""
        return unit_word(self.signals[self.alarm.signal].unit)

    @property
    def alarm_is_share(self) -> bool:
        """Whether the alarm's number, which the prediction asks for, lies between 0 and 1."""
        return self.signals[self.alarm.signal].unit == "share"

    def promise(self, name: str) -> Slo | None:
        """Return the promise whose kept share a verification calls ``promise:<slo>``; None for another name."""
        prefix, _, key = name.partition(":")
        return self.slos.get(key) if prefix == "promise" else None

    @property
    def parameter_title(self) -> str:
        """Return what number the diagnosis asks for, in words; '' if none. Worlds that ask others are all named."""
        names = [each.answer.parameter for each in self.hypotheses.values()]
        titles = dict.fromkeys(self.signals[name].title for name in names if name is not None)
        return ", or ".join(titles)

    @property
    def fleet_words(self) -> str:
        """Return what serves, in a few words: "one engine, TP4"."""
        count = self.fleet.replicas
        engines = "one engine" if count == 1 else f"{count} engines"
        return f"{engines}, TP{self.fleet.tensor_parallel_size}"

    @property
    def served(self) -> tuple[str, ...]:
        return tuple(key for key, hypothesis in self.hypotheses.items() if hypothesis.served)


LIVE = "/live"
"""Behind a lab's key: the lab as a real engine runs it. Also the folder in the lab's own that says so."""

ONCE = ("version",)
"""Keys that the format had once. Attempts stay on their version, so that a stored one may hold them for good."""
_STORED = re.compile(r"[0-9a-f]{16}")
"""How a stored version is pinned; a draft is pinned by a word."""


def load_spec(folder: Path) -> LabSpec:
    """Read ``folder/lab.toml``.

    Raises SpecError, one line a fault, each with the file, the line, the key and what is wrong with it.
    """
    slug, _, pinned = folder.name.partition(PINNED)
    data, lines = _read(folder, "lab.toml", slug)
    return _checked(slug, pinned, data, [(f"{slug}/lab.toml", lines)])


def load_live(folder: Path) -> LabSpec:
    """Read the lab of a folder as a real engine runs it: ``lab.toml``, and over it ``live/live.toml``.

    Raises SpecError as ``load_spec`` does, LookupError for a lab that runs on no real engine.
    """
    slug, _, pinned = folder.name.partition(PINNED)
    if not (folder / "live").is_dir():
        raise LookupError(f"{slug} runs on no real engine")
    data, lines = _read(folder, "lab.toml", slug)
    over, over_lines = _read(folder, "live/live.toml", slug)
    name = f"{slug}/live/live.toml"
    try:
        whole = merged(data, over)
    except KeyError as exc:
        raise SpecError(f"{name}:1: without: {exc.args[0]} does not exist in lab.toml") from exc
    return _checked(slug, pinned, whole, [(name, over_lines), (f"{slug}/lab.toml", lines)])


def _read(folder: Path, file: str, slug: str) -> tuple[dict[str, Any], Lines]:
    path, name = folder / file, f"{slug}/{file}"
    if not path.is_file():
        raise SpecError(f"{name}: there is no such file; every lab folder needs one")
    try:
        source = text_files.text_of(path)
        data: dict[str, Any] = text_files.toml_of(path, source)
    except text_files.FileError as exc:
        raise SpecError(str(exc).replace(str(path), name)) from exc
    return data, text_files.lines_of(source)


def _checked(
    slug: str, pinned: str, data: dict[str, Any], files: Sequence[tuple[str, Lines]]
) -> LabSpec:
    if _STORED.fullmatch(pinned):
        data = {key: each for key, each in data.items() if key not in ONCE}
    if "rubric" in data:
        name, lines = files[-1]
        at = text_files.line_of(lines, ("rubric",)) or 1
        raise SpecError(
            f"{name}:{at}: rubric: has a file of its own; move its items to rubric.toml"
        )
    try:
        return LabSpec.model_validate({**with_panels(data), "slug": slug, "pinned": pinned})
    except ValidationError as exc:
        raise SpecError("\n".join(_fault(files, each) for each in exc.errors())) from exc


def _fault(files: Sequence[tuple[str, Lines]], error: ErrorDetails) -> str:
    """Return file, line, key and what to write, in the words that all files of the course are refused with.

    Of several files it is the first that says something of the key.
    """
    said = error["msg"].removeprefix("Value error, ")
    # What is wrong of the whole lab begins with the key that names it.
    keys = error["loc"] or tuple(said.split(" ", 1)[0].rstrip(":").split("."))
    where = f"{'.'.join(map(str, error['loc']))}: " if error["loc"] else ""
    words = {"missing": "missing: write it", "extra_forbidden": "unknown key: take it out"}
    name, lines = next((each for each in files if keys in each[1]), files[-1])
    at = text_files.line_of(lines, keys) or 1
    return f"{name}:{at}: {where}{words.get(error['type'], said)}"
