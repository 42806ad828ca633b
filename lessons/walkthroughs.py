"""A lesson's walkthrough: ``walkthrough.toml`` names a lab, one of its worlds, a seed, and steps in order.

Pure. A step is a line of the lab's console. What the text may quote of its answer is found by patterns and worked out
from what was found; what the text claims of it stands beside as claims, which tests hold. A mistake raises ContentError.
"""

from __future__ import annotations

import json
import operator
import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from courseware.text_files import nearest
from labs import catalogue, console, incident
from labs.instruments.sources import NotMeasured
from lessons.front_matter import Place, checked, read_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from labs.specs import LabSpec

FILE = "walkthrough.toml"
_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_NUMBER = re.compile(r"\d+(\.\d+)?")
_SUM = re.compile(r"(?P<left>[a-z0-9_.]+) (?P<sign>[-+*/]) (?P<right>[a-z0-9_.]+)")
_CLAIM = re.compile(r"(?P<left>[a-z0-9_.]+) (?P<sign><=|>=|<|>) (?P<right>[a-z0-9_.]+)")
_SUMS: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
_DIGITS = 3


@dataclass(frozen=True)
class Term:
    """Two operands, each a fact or a number, and the sign between them."""

    left: str
    sign: str
    right: str

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"

    def values(self, facts: Mapping[str, float]) -> tuple[float, float]:
        left, right = (
            facts[e] if _NAME.fullmatch(e) else float(e) for e in (self.left, self.right)
        )
        return left, right

    def worked_out(self, facts: Mapping[str, float]) -> float:
        """Return the sum, difference, product or quotient."""
        return _SUMS[self.sign](*self.values(facts))

    def holds(self, facts: Mapping[str, float]) -> bool:
        """Tell whether the comparison is true."""
        return _COMPARISONS[self.sign](*self.values(facts))


@dataclass(frozen=True)
class Step:
    """One line of the console, at its moment."""

    key: str
    title: str
    line: str
    number: int
    """From 1."""
    at_s: int
    """The incident clock before it, seconds."""
    cost_s: int
    """What it costs, incident seconds."""
    find: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    """Facts: the number that a pattern's one group finds in the answer."""
    work_out: Mapping[str, Term] = field(default_factory=dict)
    """Facts that follow from others."""
    claims: tuple[Term, ...] = ()
    """What the text says of the facts."""

    @property
    def command(self) -> console.Command:
        parsed = console.parse(self.line)
        if isinstance(parsed, console.Refusal):
            raise TypeError(f"{self.line!r} was read as a step: {parsed.message}")
        return parsed

    @property
    def moves_the_world(self) -> bool:
        """Whether it is a change or a wait, and no reading."""
        return is_move(self.command)


@dataclass(frozen=True)
class Walkthrough:
    """The same incident for everybody, and what is done in it."""

    lab: str
    world: str
    seed: int
    steps: tuple[Step, ...]

    @property
    def spec(self) -> LabSpec:
        return catalogue.labs()[self.lab]

    def step(self, key: str) -> Step | None:
        return next((step for step in self.steps if step.key == key), None)

    def facts_by(self, key: str) -> frozenset[str]:
        """Return the names of the facts that are known once a step was carried out."""
        names: set[str] = set()
        for step in self.steps:
            names |= {*step.find, *step.work_out}
            if step.key == key:
                break
        return frozenset(names)

    def as_json(self) -> str:
        """Return what its answers follow from, beside the lab and the code."""
        steps = [
            (s.line, {name: each.pattern for name, each in s.find.items()},
             {name: str(each) for name, each in s.work_out.items()})
            for s in self.steps
        ]  # fmt: skip
        return json.dumps([self.lab, self.world, self.seed, steps])


def is_move(command: console.Command) -> bool:
    """Tell a change or a wait from what only looks."""
    return command.verb in incident.CHANGE_VERBS or command.verb == "wait"


def why_not(walk: Walkthrough, step: Step, line: str) -> str:
    """Return why a learner's line is not run at a step, in a sentence; empty if it is."""
    parsed = console.parse(line)
    if isinstance(parsed, console.Refusal):
        return parsed.message
    if parsed == step.command:
        return ""
    if is_move(parsed):
        return (
            f"`{parsed.verb}` would leave this walkthrough's world, which is the same for everybody. Step {step.number} "
            f"runs `{step.line}`; beside it you may take any reading. In the lab you change what you like."
        )
    try:
        incident.price(walk.spec, parsed)
    except NotMeasured as error:
        return str(error)
    return ""


# -------------------------------------------------------------------------------------------- reading


def walkthrough_in(folder: Path) -> Walkthrough | None:
    """Return the walkthrough of a lesson's folder, if it has one. Raises ContentError."""
    path = folder / FILE
    if not path.is_file():
        return None
    data, file = read_toml(path, {"lab": str, "world": str, "seed": int, "steps": list}, {})
    spec = catalogue.labs().get(data["lab"])
    if spec is None:
        near = nearest(data["lab"], catalogue.labs())
        raise file.at("lab").error(f"no lab is called {data['lab']!r}{near}")
    if data["world"] not in spec.hypotheses:
        raise file.at("world").error(
            f"{data['lab']} has no {data['world']!r}, only {', '.join(spec.hypotheses)}"
        )
    steps = tuple(_steps(file, spec, data["steps"]))
    return Walkthrough(data["lab"], data["world"], data["seed"], steps)


def _steps(file: Place, spec: LabSpec, tables: Sequence[Any]) -> Iterator[Step]:
    at_s, keys, known = 0, set[str](), set[str]()
    for number, table in enumerate(tables, 1):
        place = file.at("steps", number - 1, name=f"step {number}")
        data = checked(
            place, table, {"id": str, "title": str, "run": str},
            {"find": dict, "work_out": dict, "claims": list},
        )  # fmt: skip
        key = data["id"]
        if not _ID.fullmatch(key) or key in keys or key == "read":
            raise place.at("id").error(f"write an id of its own such as queue, not {key!r}")
        keys.add(key)
        place = file.at("steps", number - 1, name=f"step {number} ({key})")
        cost_s = _price(place.at("run"), spec, data["run"])
        find = {
            name: _pattern(place.at("find", name), name, text, known)
            for name, text in data.get("find", {}).items()
        }
        work_out: dict[str, Term] = {}
        for name, text in data.get("work_out", {}).items():
            at = place.at("work_out", name)
            work_out[name] = _term(at, _SUM, text, known)
            _named(at, name, known)
        claims = tuple(_term(place.at("claims"), _CLAIM, c, known) for c in data.get("claims", ()))
        yield Step(
            key, data["title"], data["run"].strip(), number, at_s, cost_s,
            MappingProxyType(find), MappingProxyType(work_out), claims,
        )  # fmt: skip
        at_s += cost_s
    if at_s > spec.timeline.budget_s:
        raise file.error(f"the steps take {at_s} s; the lab has {spec.timeline.budget_s}")


def _price(place: Place, spec: LabSpec, line: str) -> int:
    parsed = console.parse(line)
    if isinstance(parsed, console.Refusal):
        raise place.error(parsed.message)
    try:
        return incident.price(spec, parsed)
    except NotMeasured as error:
        raise place.error(str(error)) from error


def _pattern(place: Place, name: str, text: object, known: set[str]) -> re.Pattern[str]:
    try:
        pattern = re.compile(text, re.MULTILINE) if isinstance(text, str) else None
    except re.error as error:
        raise place.error(f"{error}") from error
    if pattern is None or pattern.groups != 1:
        raise place.error("write a pattern with one group around the number")
    _named(place, name, known)
    return pattern


def _named(place: Place, name: str, known: set[str]) -> None:
    if not _NAME.fullmatch(name) or name in known:
        raise place.error("give the fact a name of its own such as p95_before")
    known.add(name)


def _term(place: Place, shape: re.Pattern[str], text: object, known: set[str]) -> Term:
    match = shape.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        example = "p95 > 0.6" if shape is _CLAIM else "waiting / rate"
        raise place.error(f"{text!r}: write two facts or numbers, such as {example!r}")
    for operand in (match["left"], match["right"]):
        if not _NUMBER.fullmatch(operand) and operand not in known:
            raise place.error(f"no step until here finds a fact {operand!r}")
    return Term(match["left"], match["sign"], match["right"])


# ---------------------------------------------------------------------------------------------- facts


def number_of(printed: str) -> float:
    """Return the value of a number as an instrument prints it, thousands marks and all."""
    return float(printed.replace(",", ""))


def shown(value: float) -> str:
    """Return a number for the text: whole from 1,000 on, three digits below."""
    if value == round(value) or abs(value) >= 10**_DIGITS:
        return f"{value:,.0f}"
    return f"{value:.{_DIGITS}g}"
