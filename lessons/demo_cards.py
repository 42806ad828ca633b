"""A demonstration for one reader: where its controls stand, and what it shows there."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from labs.charts.numbers import bound
from lessons.demos import DEMOS, computed
from lessons.demos.demo import Choice, Number
from lessons.demos.values import read, words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lessons.content import Lesson, Station
    from lessons.demos.demo import Control, Value
    from lessons.demos.values import Setting

ASKED = "demo"
"""The field that says which demonstration an address sets."""
LAST = "last"
"""The field that holds the last setting that could be computed, for a page without JavaScript."""


@dataclass(frozen=True)
class OptionField:
    """One option of a choice."""

    value: str
    label: str
    chosen: bool


@dataclass(frozen=True)
class Field:
    """One control."""

    id: str
    name: str
    label: str
    hint: str
    """Unit and range."""
    typed: str
    fault: str
    options: tuple[OptionField, ...] = ()
    slider: Mapping[str, str] | None = None
    """Its least, most, step and value, as HTML writes them."""


@dataclass(frozen=True)
class DemoCard:
    """A demonstration as it stands."""

    lesson: Lesson
    station: Station
    key: str
    title: str
    fields: tuple[Field, ...]
    result: dict[str, Any]
    query: str
    """Of the address that shows the same setting."""
    last: str
    has_fault: bool


def typed_for(key: str, asked: Mapping[str, str]) -> Mapping[str, str]:
    """Return what an address's query says to one demonstration; nothing if it speaks to another."""
    return asked if asked.get(ASKED) == key else {}


def demo_card(lesson: Lesson, station: Station, key: str, typed: Mapping[str, str]) -> DemoCard:
    """Return a demonstration of a station where ``typed`` puts its controls.

    What is at fault keeps its words, and the last setting that could be computed stays shown.
    """
    demo = DEMOS[key]
    before = read(demo, dict(parse_qsl(typed.get(LAST, ""))), station.demos[key])
    setting = read(demo, typed, before.values)
    values = before.values if setting.faults else setting.values
    shown = asdict(computed(demo, values))
    shown["says"], shown["method"] = bound(shown["says"]), bound(shown["method"])
    shown["readouts"] = [{**each, "beside": bound(each["beside"])} for each in shown["readouts"]]
    shown["plots"] = [
        {**plot, "id": f"demo-{key}-plot-{place}"} for place, plot in enumerate(shown["plots"])
    ]
    last = urlencode(
        {control.name: control.written(values[control.name]) for control in demo.controls}
    )
    return DemoCard(
        lesson=lesson,
        station=station,
        key=key,
        title=demo.title,
        fields=tuple(_field(key, control, setting) for control in demo.controls),
        result=shown,
        query=f"{ASKED}={key}&{last}",
        last=last,
        has_fault=bool(setting.faults),
    )


def _field(key: str, control: Control, setting: Setting) -> Field:
    value = setting.values[control.name]
    field = Field(
        id=f"demo-{key}-{control.name}",
        name=control.name,
        label=control.label,
        hint=control.unit,
        typed=setting.typed[control.name],
        fault=setting.faults.get(control.name, ""),
    )
    if isinstance(control, Choice):
        options = tuple(OptionField(v, label, v == value) for v, label in control.options)
        return replace(field, options=options)
    return replace(field, hint=_hint(control), slider=_slider(control, value))


def _hint(control: Number) -> str:
    span = f"{words(control, control.least)} to {words(control, control.most)}"
    return f"{control.unit}, {span}" if control.unit else span


def _slider(control: Number, value: Value) -> Mapping[str, str] | None:
    if not control.has_slider:
        return None
    ends = {"least": control.least, "most": control.most, "step": control.step, "value": value}
    return {name: control.written(each) for name, each in ends.items()}
