"""How likely the learner holds each hypothesis. Each is set by itself; what was never set is open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.models import Action

if TYPE_CHECKING:
    from labs.room.log import Log
    from labs.specs import LabSpec

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Names of the hypotheses, in the order of the spec."""


@dataclass(frozen=True)
class Belief:
    key: str
    letter: str
    title: str
    percent: int | None
    """None is open."""
    even: int
    """Where its slider stands before it is moved: each as likely as the others."""

    @property
    def field(self) -> str:
        return f"belief-{self.key}"

    @property
    def slider(self) -> int:
        return self.even if self.percent is None else self.percent

    @property
    def ruled_out(self) -> bool:
        return self.percent == 0


def beliefs_of(spec: LabSpec, log: Log) -> list[Belief]:
    """Return a belief for each hypothesis. An entry of the log says only what it set, so the entries add up."""
    held: dict[str, int] = {}
    for each in log.done(Action.Kind.BELIEFS):
        held |= each.payload
    even = round(100 / len(spec.hypotheses) / 5) * 5
    return [
        Belief(key, LETTERS[place], each.title, held.get(key), even)
        for place, (key, each) in enumerate(spec.hypotheses.items())
    ]
