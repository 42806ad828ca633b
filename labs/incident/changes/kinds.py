"""What a kind of change is: what it does, what it costs, why it is refused, how it is taken back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from labs.incident.state import Incident, Operation


class NotDone(Exception):  # noqa: N818
    """A change that a real world did not take after all; the message is a sentence. Nothing is charged for it."""


def never(incident: Incident, operation: Operation) -> str:
    """Refuse nothing."""
    del incident, operation
    return ""


@dataclass(frozen=True)
class Kind:
    """One verb that changes a world. An operation is ``{"verb": …, **options}``."""

    key: str
    """Its entry among the changes of a lab's spec, which has its price."""
    target: str
    """What it changes, for the atoms that marking leaves out one by one."""
    apply: Callable[[Incident, Operation], None]
    """Do it to the world at its present time. Takes no time itself."""
    describe: Callable[[Operation], str]
    """Say what was done, as logs and the debrief show it."""
    undo: Callable[[Incident, Operation, Sequence[Operation]], None] | None = None
    """Take it back, given those of its verb that stay in force, in order; None if it cannot be."""
    lasts: str = "this cannot be taken back."
    """Why it cannot be taken back."""
    why_not: Callable[[Incident, Operation], str] = never
    """Return why the world refuses it, or ''."""
    why_not_undone: Callable[[Incident, Operation, Sequence[Operation]], str] | None = None
