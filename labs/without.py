"""Without the fix: the same world from the same log, with one change left out. Did that change help? Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from labs.atoms import atoms_of, keeping
from labs.log import operations_of
from labs.twins import Twins

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labs.atoms import Atom
    from labs.incident import Progress
    from labs.log import Entry
    from labs.specs import LabSpec


class Verdict(StrEnum):
    """What leaving a change out says of it."""

    NEEDED = "needed"
    """With it every promise held, without it one is missed."""
    IDLE = "idle"
    """Every promise holds without it too."""
    HARMED = "harmed"
    """Without it every promise would have held."""
    NOT_ENOUGH = "not enough"
    """Promises are missed with it and without it."""


@dataclass(frozen=True)
class Held:
    """One promise over the window after "done"."""

    name: str
    met: float
    """Share of requests that met it."""
    target: float
    throughout: bool


@dataclass(frozen=True)
class LeftOut:
    """One world with one change left out of it."""

    passes: bool
    """Whether the cause is gone and every promise held in every third of the window."""
    held: tuple[Held, ...]
    users_hurt: int
    """Since the page, until "done"."""
    alarm: tuple[tuple[int, float | None], ...]


def changes_of(log: Sequence[Entry]) -> tuple[Atom, ...]:
    """Return what a log changed, taken apart, in order of first use."""
    timed = [each for each in operations_of(log) if each.operation["verb"] != "slowdown"]
    return tuple(dict.fromkeys(atom for each in timed for atom in atoms_of(each.operation)))


def run_without(
    spec: LabSpec,
    truth: str,
    seed: int,
    log: Sequence[Entry],
    *,
    left_out: Atom | None,
    progress: Progress | None = None,
) -> LeftOut:
    """Run the world of a log again without one of its changes; with None, as it was. Takes about a second.

    ``truth`` is the world's own hypothesis. Raises ValueError for a change that the log does not hold.
    """
    changes = changes_of(log)
    if left_out is not None and left_out not in changes:
        raise ValueError(f"the log holds no change {left_out[1]} of {left_out[0]}")
    operations = operations_of(log)
    done_s = max((entry.at_s for entry in log), default=0)
    since_s = next((each.at_s for each in operations if each.operation["verb"] != "slowdown"), None)
    twins = Twins(spec, truth, seed, done_s, progress)
    kept = operations if left_out is None else keeping(operations, frozenset(changes) - {left_out})
    twin = twins.tell(kept, since_s=since_s)
    held = tuple(
        Held(name, each.met, each.target, each.throughout) for name, each in twin.fared.items()
    )
    return LeftOut(twin.passes, held, twin.users_hurt, twin.alarm)


def verdict(*, with_it: bool, without_it: bool) -> Verdict:
    """Return what two runs say of a change: whether all held with it, and without it."""
    if with_it:
        return Verdict.IDLE if without_it else Verdict.NEEDED
    return Verdict.HARMED if without_it else Verdict.NOT_ENOUGH


def dump(found: LeftOut) -> dict[str, Any]:
    """Return a run as plain JSON values."""
    return asdict(found)


def load(stored: Mapping[str, Any]) -> LeftOut:
    """Return a run that was dumped."""
    return LeftOut(
        stored["passes"],
        tuple(Held(**each) for each in stored["held"]),
        stored["users_hurt"],
        tuple((at_s, value) for at_s, value in stored["alarm"]),
    )
