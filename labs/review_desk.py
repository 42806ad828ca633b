"""An attempt as the grader's desk shows it: the explanation, the diagnosis, the moments, the machine's marks. Pure.

Nothing in here says whose attempt it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Protocol

from labs.debrief.parts import reason_shown
from labs.incident import clock
from labs.specs import unit_word

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from uuid import UUID

    from labs.specs import LabSpec

GLYPHS = {
    "reading": "i-reading",
    "change": "i-change",
    "verification": "i-verify",
    "wait": "i-clock",
    "predict": "i-half",
    "diagnose": "i-diagnosis",
    "explain": "i-pin",
    "beliefs": "i-auto",
}
WORDS = {
    "reading": "Reading",
    "change": "Change",
    "verification": "Verification",
    "wait": "Wait",
    "predict": "Prediction",
    "diagnose": "Diagnosis",
    "explain": "Explanation",
    "beliefs": "Beliefs",
}
MS_BELOW_S = 0.1
TWO_DECIMALS_BELOW = 10
ONE_DECIMAL_BELOW = 100


class Logged(Protocol):
    """What is read of one entry of an attempt's log."""

    seq: int
    kind: Any
    payload: Any
    outcome: Any
    at_s: int | None
    cost_s: int


@dataclass(frozen=True)
class Value:
    title: str
    text: str


@dataclass(frozen=True)
class Cited:
    """One reading that the diagnosis leans on."""

    number: int
    title: str
    value: str
    what: str
    """Shows the fault, or rules out which rival."""


@dataclass(frozen=True)
class Moment:
    """One entry of the log at its incident time."""

    seq: int
    """Its place in the log: the address of this moment."""
    kind: str
    number: int
    """The number that the learner saw; 0 for what is not numbered."""
    at: str
    cost: str
    title: str
    values: tuple[Value, ...] = ()
    line: str = ""
    printed: str = ""
    cited: tuple[str, ...] = ()
    x: str = ""
    width: str = ""
    """Where it stands on the strip, in percent of the attempt; empty for what took no time."""

    @property
    def glyph(self) -> str:
        return GLYPHS[self.kind]

    @property
    def word(self) -> str:
        return WORDS[self.kind]


@dataclass(frozen=True)
class Diagnosis:
    at: str
    layer: str
    says: tuple[Value, ...]
    cited: tuple[Cited, ...]


@dataclass(frozen=True)
class Part:
    title: str
    earned: float
    of: int
    reason: str


@dataclass(frozen=True)
class Marks:
    """What the machine gave, and the world that it was."""

    total: float | None
    passed: bool
    world: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Desk:
    explanation: str
    words: int
    explained_at: str
    diagnosis: Diagnosis | None
    moments: tuple[Moment, ...]
    """All but the beliefs, which the story shows as they moved."""
    lasted: str
    marks: Marks | None

    @property
    def has_changed(self) -> bool:
        """Whether anything in the world was changed."""
        return any(moment.kind == "change" for moment in self.moments)


def pseudonym(public_id: UUID) -> str:
    """Return the name under which graders know an attempt: the same one always, and nobody's."""
    return f"Attempt {public_id.hex[:4]}"


def desk_of(spec: LabSpec, log: Sequence[Logged], mark: Mapping[str, Any] | None) -> Desk:
    """Return what the desk shows of an attempt; ``log`` holds what was done, in order."""
    said = next((each for each in reversed(log) if each.kind == "explain"), None)
    diagnosed = next((each for each in reversed(log) if each.kind == "diagnose"), None)
    text = str(said.payload.get("text", "")) if said else ""
    return Desk(
        explanation=text,
        words=len(text.split()),
        explained_at=clock(said.at_s or 0) if said else "",
        diagnosis=_diagnosis(spec, diagnosed, log) if diagnosed else None,
        moments=tuple(each for each in moments_of(spec, log) if each.kind != "beliefs"),
        lasted=clock(max((each.at_s or 0 for each in log), default=0)),
        marks=_marks(spec, mark) if mark else None,
    )


# ----------------------------------------------------------------------------------------- moments


def moments_of(spec: LabSpec, log: Sequence[Logged]) -> Iterator[Moment]:
    """Yield the moments of a log: what was read, changed, waited for, believed and said, in order."""
    diagnosed = next((each for each in reversed(log) if each.kind == "diagnose"), None)
    citations = list(diagnosed.payload.get("citations", [])) if diagnosed else []
    lasted_s = max((each.at_s or 0 for each in log), default=0)
    for each in log:
        outcome = each.outcome or {}
        kind = str(outcome.get("kind", "")) if each.kind == "command" else str(each.kind)
        if kind not in GLYPHS:
            continue
        number, at_s, cost_s = int(outcome.get("number", 0)), each.at_s or 0, each.cost_s
        takes_time = cost_s > 0 and lasted_s > 0
        yield Moment(
            seq=each.seq,
            kind=kind,
            number=number,
            at=clock(at_s),
            cost=clock(cost_s) if cost_s else "",
            title=_title(spec, kind, each),
            values=tuple(
                Value(signal_title(spec, key), shown_value(spec, key, value))
                for key, value in outcome.get("signals", {}).items()
            ),
            line=str(each.payload.get("line", "")),
            printed=str(outcome.get("text", "")) if kind in {"reading", "verification"} else "",
            cited=tuple(
                _role(spec, citation)
                for citation in citations
                if number and int(citation.get("reading", 0)) == number
            ),
            x=f"{100 * (at_s - cost_s) / lasted_s:.2f}%" if takes_time else "",
            width=f"{100 * cost_s / lasted_s:.2f}%" if takes_time else "",
        )


def _title(spec: LabSpec, kind: str, entry: Logged) -> str:
    outcome, payload = entry.outcome or {}, entry.payload
    if kind == "reading":
        instrument = spec.instruments.get(outcome.get("instrument", ""))
        return instrument.title if instrument else str(payload.get("line", ""))
    if kind == "verification":
        return "What raised the alarm, measured again"
    if kind == "wait":
        return f"Let {clock(entry.cost_s)} pass"
    if kind == "predict":
        return (
            f"Expected {payload.get('value')} {spec.prediction.unit}".rstrip() + ", "
            f"{payload.get('confidence')}% sure: {payload.get('why') or 'no reason given'}"
        )
    if kind == "diagnose":
        mechanism = spec.mechanisms.get(payload.get("mechanism", ""))
        return mechanism.title if mechanism else "No mechanism named"
    if kind == "beliefs":
        return ", ".join(
            f"{letter} {_sure(payload[key])}"
            for letter, key in zip(ascii_uppercase, spec.hypotheses, strict=False)
            if key in payload
        )
    if kind == "explain":
        return f"{len(str(payload.get('text', '')).split())} words"
    return str(outcome.get("text", "")).partition("\n")[0]


def _sure(percent: object) -> str:
    return "ruled out" if percent == 0 else f"{percent} %"


# --------------------------------------------------------------------------------------- diagnosis


def _diagnosis(spec: LabSpec, entry: Logged, log: Sequence[Logged]) -> Diagnosis:
    said = entry.payload
    hurt = [spec.slos[key].title for key in said.get("slos", []) if key in spec.slos]
    named = [spec.nodes[key].title for key in said.get("components", []) if key in spec.nodes]
    mechanism = spec.mechanisms.get(said.get("mechanism", ""))
    says = [
        Value("Is it a fault?", "yes" if said.get("scope") == "fault" else "no"),
        Value("Promises that it hurts", "; ".join(hurt)),
        Value("Component", "; ".join(named)),
        Value("Mechanism", mechanism.title if mechanism else ""),
    ]
    if isinstance(said.get("parameter"), (int, float)):
        says.append(Value(spec.parameter_title, _parameter(spec, said["parameter"])))
    if said.get("confidence") is not None:
        says.append(Value("How sure", f"{said['confidence']}%"))
    shown = {
        int((each.outcome or {}).get("number", 0)): each for each in log if each.kind == "command"
    }
    cited = []
    for citation in said.get("citations", []):
        number, key = int(citation.get("reading", 0)), str(citation.get("signal", ""))
        reading = shown.get(number)
        value = (reading.outcome or {}).get("signals", {}).get(key) if reading else None
        cited.append(
            Cited(
                number,
                signal_title(spec, key),
                shown_value(spec, key, value),
                _role(spec, citation),
            )
        )
    return Diagnosis(
        at=clock(entry.at_s or 0),
        layer=str(said.get("layer", "")),
        says=tuple(value for value in says if value.text),
        cited=tuple(cited),
    )


def _role(spec: LabSpec, citation: Mapping[str, Any]) -> str:
    if citation.get("role") == "shows":
        return "shows the fault"
    rival = spec.hypotheses.get(str(citation.get("rival", "")))
    return f"rules out: {rival.title}" if rival else "rules out a rival"


# ------------------------------------------------------------------------------------------- marks


def _marks(spec: LabSpec, mark: Mapping[str, Any]) -> Marks:
    world = spec.hypotheses.get(str(mark.get("debrief", {}).get("hypothesis", "")))
    return Marks(
        total=mark.get("total"),
        passed=bool(mark.get("passed")),
        world=world.title if world else "",
        parts=tuple(
            Part(
                str(part["name"]).capitalize(),
                float(part["earned"]),
                int(part["weight"]),
                reason_shown(spec, part),
            )
            for part in mark.get("parts", [])
            if "earned" in part
        ),
    )


# ------------------------------------------------------------------------------------------- words


def signal_title(spec: LabSpec, key: str) -> str:
    """Return what people call a signal, or a promise that a verification looked at."""
    signal, promise = spec.signals.get(key), spec.promise(key)
    return signal.title if signal else promise.title if promise else key


def _parameter(spec: LabSpec, value: float) -> str:
    """Return the number of a diagnosis, with its unit where every world of the lab asks for the same one."""
    asked = {each.answer.parameter for each in spec.hypotheses.values()} - {None}
    return shown_value(spec, (asked.pop() if len(asked) == 1 else None) or "", value)


def shown_value(spec: LabSpec, key: str, value: float | str | None) -> str:
    """Return a signal's value with its unit; a share is a plain number, as the console prints it."""
    if value is None:
        return "nothing to measure"
    if isinstance(value, str):
        return value
    if spec.promise(key) is not None:
        return f"kept to {100 * value:.1f} %"
    signal = spec.signals.get(key)
    unit = signal.unit if signal else ""
    if unit == "s" and abs(value) < MS_BELOW_S:
        return f"{value * 1000:.0f} ms"
    whole = unit in {"requests", "preemptions", "tokens"}
    if whole or abs(value) >= ONE_DECIMAL_BELOW:
        number = f"{value:,.0f}"
    else:
        number = f"{value:.2f}" if abs(value) < TWO_DECIMALS_BELOW else f"{value:.1f}"
    return f"{number} {unit_word(unit)}".rstrip()


def waited(for_: timedelta) -> str:
    """Return a time that somebody waited in its two largest units: "2 d 4 h", "3 h 5 min", "12 min"."""
    minutes = max(0, int(for_.total_seconds() // 60))
    days, hours, minutes = minutes // 1440, minutes // 60 % 24, minutes % 60
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
