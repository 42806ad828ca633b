"""What every part of a spec is made of: frozen models, ranges that a seed draws from, bounds on signals."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

LAYERS = ("boundary", "overload", "memory", "compatibility", "lifetime")
type Layer = Literal["boundary", "overload", "memory", "compatibility", "lifetime"]
type Share = Annotated[float, Field(ge=0.0, le=1.0)]
type Seconds = Annotated[int, Field(ge=0)]
type PositiveSeconds = Annotated[int, Field(gt=0)]


def _rising(span: tuple[float, float]) -> tuple[float, float]:
    if span[0] > span[1]:
        raise ValueError(f"a range is [low, high]; {span[0]:g} is above {span[1]:g}")
    return span


type Range = Annotated[tuple[float, float], AfterValidator(_rising)]
"""``[low, high]``: a seed draws uniformly between the two."""


def unit_word(unit: str) -> str:
    """Return what is written behind a number of this unit: a share is a plain number."""
    return "" if unit == "share" else unit


class SpecError(ValueError):
    """A lab folder that cannot be served; the message names the file, the key and what to write."""


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Bound(Frozen):
    """A signal that must lie within bounds, or be one category."""

    signal: str
    at_least: float | None = None
    at_most: float | None = None
    equals: str | None = None
    absent_holds: bool = False
    """Whether a window that holds nothing to measure counts as held."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        numbers = self.at_least is not None or self.at_most is not None
        if numbers == (self.equals is not None):
            raise ValueError("a bound has at_least, at_most or both, or equals")
        return self

    def holds(self, value: float | str | None) -> bool:
        """Return whether a reading lies within the bound."""
        if value is None:
            return self.absent_holds
        if isinstance(value, str) or self.equals is not None:
            return value == self.equals
        low, high = self.at_least, self.at_most
        return (low is None or value >= low) and (high is None or value <= high)
