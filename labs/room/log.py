"""The log of an attempt, sorted by what its entries are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from labs.models import Action

if TYPE_CHECKING:
    from collections.abc import Sequence

Kind, Status = Action.Kind, Action.Status

ICONS = {"reading": "reading", "change": "change", "verification": "verify", "wait": "clock"}
"""The glyph of an outcome, by its kind."""


@dataclass(frozen=True)
class Log:
    """Every entry of one attempt, in order."""

    actions: Sequence[Action]

    @cached_property
    def commands(self) -> list[Action]:
        return [each for each in self.actions if each.kind == Kind.COMMAND]

    @cached_property
    def answered(self) -> list[Action]:
        """Return the commands that were done."""
        return self.done(Kind.COMMAND)

    @cached_property
    def readings(self) -> list[Action]:
        return self.done(Kind.COMMAND, "reading")

    @cached_property
    def changes(self) -> list[Action]:
        return self.done(Kind.COMMAND, "change")

    @cached_property
    def verifications(self) -> list[Action]:
        return self.done(Kind.COMMAND, "verification")

    @cached_property
    def diagnoses(self) -> list[Action]:
        return self.done(Kind.DIAGNOSE)

    @cached_property
    def explanation(self) -> Action | None:
        return next(reversed(self.done(Kind.EXPLAIN)), None)

    @cached_property
    def prediction(self) -> Action | None:
        return next(iter(self.done(Kind.PREDICT)), None)

    @cached_property
    def last_begin(self) -> Action | None:
        return next((each for each in reversed(self.actions) if each.kind == Kind.BEGIN), None)

    @cached_property
    def running(self) -> Action | None:
        return next((each for each in self.actions if each.is_under_way), None)

    def done(self, kind: str, outcome: str = "") -> list[Action]:
        """Return what was done of a kind of entry, and of a kind of outcome if one is named."""
        return [
            each
            for each in self.actions
            if each.kind == kind
            and each.status == Status.DONE
            and (not outcome or (each.outcome or {}).get("kind") == outcome)
        ]
