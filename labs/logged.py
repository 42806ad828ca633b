"""Rows of the action log as the pure rooms read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.log import Entry
from labs.models import Action

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labs.models import Attempt


def entries_of(actions: Iterable[Action]) -> list[Entry]:
    """Return actions that were done as entries of a log."""
    return [
        Entry(row.kind, row.payload, row.outcome or {}, row.at_s or 0, row.cost_s)
        for row in actions
    ]


def log_of(attempt: Attempt) -> list[Entry]:
    """Return all that was done in an attempt, in order."""
    return entries_of(attempt.actions.filter(status=Action.Status.DONE).order_by("seq"))
