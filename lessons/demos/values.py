"""Where a reader has put the controls: typed words to values, or to a sentence that says what can be written. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from lessons.demos.demo import Choice, Number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lessons.demos.demo import Control, Demo, Value

_NUMBER = re.compile(r"[-−]?(\d{1,3}([,\u202f ]\d{3})+|\d+|(?=\.\d))(\.\d+)?")
_LONGEST = 20


class SettingError(ValueError):
    """A control cannot stand there; the message says where it can."""


@dataclass(frozen=True)
class Setting:
    """Where all controls of a demonstration stand."""

    values: Mapping[str, Value]
    """What to compute with: of a control that is at fault, what it held before."""
    typed: Mapping[str, str]
    """What stands in the fields."""
    faults: Mapping[str, str]
    """A sentence for each control that is at fault."""


def value_of(control: Control, typed: str) -> Value:
    """Return the value that ``typed`` means for a control. Raises SettingError."""
    text = typed.strip()
    if isinstance(control, Choice):
        if text not in dict(control.options):
            known = ", ".join(f"“{label}”" for _, label in control.options)
            raise SettingError(f"{_quoted(text)} is none of {known}.")
        return text
    if control.unit and text.endswith(control.unit):
        text = text.removesuffix(control.unit).strip()
    if not text:
        raise SettingError(f"Write {_allowed(control)}.")
    if len(text) > _LONGEST or not _NUMBER.fullmatch(text):
        raise SettingError(f"{_quoted(text)} is no number: write {_allowed(control)}.")
    number = float(re.sub(r"[,\u202f ]", "", text).replace("−", "-"))
    if not control.least <= number <= control.most:
        side = "below the least" if number < control.least else "above the most"
        raise SettingError(f"{_quoted(text)} is {side}: write {_allowed(control)}.")
    if control.is_whole and not number.is_integer():
        raise SettingError(f"{_quoted(text)} is not whole: write {_allowed(control)}.")
    return control.value(number)


def read(demo: Demo, typed: Mapping[str, str], before: Mapping[str, Value]) -> Setting:
    """Return the setting that a reader typed; a control that is not among ``typed`` stays where it was ``before``."""
    values: dict[str, Value] = {}
    texts: dict[str, str] = {}
    faults: dict[str, str] = {}
    for control in demo.controls:
        values[control.name] = before[control.name]
        texts[control.name] = typed.get(control.name, control.written(before[control.name]))
        if control.name in typed:
            try:
                values[control.name] = value_of(control, typed[control.name])
            except SettingError as fault:
                faults[control.name] = str(fault)
    return Setting(MappingProxyType(values), MappingProxyType(texts), MappingProxyType(faults))


def options_of(demo: Demo, options: Mapping[str, str]) -> Mapping[str, Value]:
    """Return where a lesson's options put the controls. Raises SettingError, which names the option."""
    for name in options:
        if demo.control(name) is None:
            known = ", ".join(control.name for control in demo.controls)
            raise SettingError(f"there is no control {name!r}, only {known}")
    setting = read(demo, options, demo.start)
    for name, fault in setting.faults.items():
        raise SettingError(f"{name}: {fault}")
    return setting.values


def words(control: Control, value: Value) -> str:
    """Return a value for people: the option's label, or the number with thousands marks."""
    if isinstance(control, Choice):
        return dict(control.options)[str(value)]
    whole, point, rest = control.written(value).partition(".")
    return f"{int(whole):,}{point}{rest}"


def _allowed(control: Number) -> str:
    kind = "a whole number" if control.is_whole else "a number"
    return f"{kind} from {words(control, control.least)} to {words(control, control.most)}"


def _quoted(text: str) -> str:
    shown = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return f"“{shown}”"
