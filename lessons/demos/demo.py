"""What a demonstration is: controls that a reader may turn, and a pure function of where they stand."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lessons.figures import Plot, Table

type Value = int | float | str
"""Of a control: int where its step and its least are whole, float else, the option's name of a choice."""


@dataclass(frozen=True)
class Number:
    """A control that takes a number."""

    name: str
    """Of the parameter in ``compute``, of the option in a lesson, and of the field in an address."""
    label: str
    unit: str
    least: float
    most: float
    step: float
    """Of the slider; what is typed may lie between its steps unless they are whole."""
    default: float
    has_slider: bool = True

    def __post_init__(self) -> None:
        """Refuse a range that does not hold its default."""
        if not (self.least <= self.default <= self.most and self.step > 0):
            raise ValueError(
                f"{self.name}: {self.default} lies outside {self.least} to {self.most}"
            )

    @property
    def is_whole(self) -> bool:
        return float(self.step).is_integer() and float(self.least).is_integer()

    def value(self, number: float) -> Value:
        """Return a number as ``compute`` takes it."""
        return round(number) if self.is_whole else float(number)

    def written(self, value: Value) -> str:
        """Return a value as it stands in the field: with the decimals that it has, no thousands marks."""
        number = Decimal(str(value))
        return f"{number.normalize():f}" if number else "0"

    @property
    def start(self) -> Value:
        return self.value(self.default)


@dataclass(frozen=True)
class Choice:
    """A control that takes one of a few names."""

    name: str
    label: str
    options: tuple[tuple[str, str], ...]
    """(value, label) of each."""
    default: str
    unit: str = ""

    def __post_init__(self) -> None:
        """Refuse a default that cannot be chosen."""
        if self.default not in dict(self.options):
            raise ValueError(f"{self.name}: {self.default!r} is no option")

    @property
    def start(self) -> Value:
        return self.default

    def written(self, value: Value) -> str:
        return str(value)


type Control = Number | Choice


@dataclass(frozen=True)
class Readout:
    """A number that never stands alone: with its unit, and what to compare it with."""

    name: str
    value: str
    unit: str = ""
    beside: str = ""
    role: str = ""
    """``truth`` draws the ink rule of what counts."""


@dataclass(frozen=True)
class Shown:
    """What a demonstration shows for one setting."""

    says: str
    """The result as one sentence, with its numbers; read out when it changes."""
    table: Table
    """The numbers of the plots."""
    plots: tuple[Plot, ...] = ()
    readouts: tuple[Readout, ...] = ()
    """At most four."""
    method: str = ""
    """What computed it, and which of its numbers are scenario constants."""


@dataclass(frozen=True)
class Demo:
    """A demonstration."""

    id: str
    title: str
    controls: tuple[Control, ...]
    compute: Callable[..., Shown]
    """Takes every control by its name. Pure, 0.3 s at most anywhere in the ranges; ``computed`` keeps what it returned."""

    def control(self, name: str) -> Control | None:
        """Return a control by name."""
        return next((each for each in self.controls if each.name == name), None)

    @property
    def start(self) -> Mapping[str, Value]:
        """Where the controls stand unless a lesson says otherwise."""
        return MappingProxyType({each.name: each.start for each in self.controls})
