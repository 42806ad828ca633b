"""The re-runs of one world that a mark compares: simulated once, kept as JSON, and marked as often as the rules change."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from labs.atoms import atoms_of, keeping
from labs.log import Route, Step, operations_of
from labs.marking import mitigation
from labs.twins import ToldTwin, Twins

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labs.atoms import Atom
    from labs.incident import Progress
    from labs.log import Entry
    from labs.specs import LabSpec
    from labs.twins import Twin

MOST_ATOMS = 4
FORMAT = 1
"""Of the stored form. What was stored in another is simulated again."""


@dataclass(frozen=True)
class Reruns:
    """The worlds that a mark compares: as it was left, untouched, and as the reference leaves it."""

    now: ToldTwin
    nothing: ToldTwin
    reference: ToldTwin
    whole: mitigation.Rerun
    """The world as it was left, against the other two."""
    atoms: tuple[mitigation.ChangeRerun, ...]
    in_force: tuple[Atom, ...]

    @property
    def changed(self) -> bool:
        """Whether anything that was changed is still in force."""
        return bool(self.in_force)


def rerun(
    spec: LabSpec,
    truth: str,
    seed: int,
    log: Sequence[Entry],
    *,
    reference: Route,
    progress: Progress | None = None,
) -> Reruns:
    """Simulate the re-runs of a log: some seconds of work, and the only costly part of a mark.

    ``truth`` is the hypothesis that is the world's own; ``reference`` the reference play of the same world.
    """
    done_s = max((entry.at_s for entry in log), default=0)
    twins = Twins(spec, truth, seed, done_s, progress)
    operations = operations_of(log)
    changes = [timed for timed in operations if timed.operation["verb"] != "slowdown"]
    since_s = changes[0].at_s if changes else None
    tried = tuple(dict.fromkeys(atom for timed in changes for atom in atoms_of(timed.operation)))
    now = twins.tell(operations, since_s=since_s, digest=True)
    in_force = now.in_force[:MOST_ATOMS]
    nothing = twins.tell(keeping(operations, frozenset()), since_s=since_s)
    best = twins.tell(reference.operations, since_s=since_s)

    def judged(twin: Twin) -> mitigation.Rerun:
        return mitigation.Rerun(
            twin.passes, mitigation.mean_restored(twin.fared, nothing.fared, best.fared)
        )

    whole = judged(now)
    atoms: list[mitigation.ChangeRerun] = []
    everything = frozenset(tried)
    for target, kind in dict.fromkeys((*in_force, *tried[: 2 * MOST_ATOMS])):
        atom = (target, kind)
        alone = judged(twins.run(keeping(operations, frozenset({atom})), since_s=since_s))
        without = None
        if mitigation.wants_without(whole, alone):
            without = judged(twins.run(keeping(operations, everything - {atom}), since_s=since_s))
        atoms.append(
            mitigation.ChangeRerun(
                target, kind, touches_cause=alone.passes, alone=alone, without=without
            )
        )
    return Reruns(now, nothing, best, whole, tuple(atoms), in_force)


# ------------------------------------------------------------------------------------------- as JSON


@dataclass(frozen=True)
class Kept:
    """All of a mark's past that takes simulating: the re-runs, what the reference read, and the world that was left."""

    reruns: Reruns
    reference: Route
    """Its readings and steps; its log and what it did to the world are not kept."""
    live_digest: str | None


def dump(kept: Kept) -> dict[str, Any]:
    """Return what is kept as plain JSON values."""
    return {
        "format": FORMAT,
        "reruns": asdict(kept.reruns),
        "reference": {
            "signals": dict(kept.reference.signals),
            "steps": [asdict(step) for step in kept.reference.steps],
        },
        "live_digest": kept.live_digest,
    }


def load(stored: Mapping[str, Any]) -> Kept | None:
    """Return what was kept; None if it was stored in another form."""
    if stored.get("format") != FORMAT:
        return None
    told, reference = stored["reruns"], stored["reference"]
    return Kept(
        Reruns(
            now=_told(told["now"]),
            nothing=_told(told["nothing"]),
            reference=_told(told["reference"]),
            whole=mitigation.Rerun(**told["whole"]),
            atoms=tuple(_change(each) for each in told["atoms"]),
            in_force=_atoms(told["in_force"]),
        ),
        Route((), (), tuple(Step(**step) for step in reference["steps"]), reference["signals"]),
        stored["live_digest"],
    )


def _told(stored: Mapping[str, Any]) -> ToldTwin:
    fared = {
        name: mitigation.Held(**{**each, "thirds": tuple(each["thirds"])})
        for name, each in stored["fared"].items()
    }
    alarm = tuple((at_s, value) for at_s, value in stored["alarm"])
    in_force = _atoms(stored["in_force"])
    return ToldTwin(**{**stored, "fared": fared, "alarm": alarm, "in_force": in_force})


def _change(stored: Mapping[str, Any]) -> mitigation.ChangeRerun:
    without = stored["without"]
    return mitigation.ChangeRerun(
        **{
            **stored,
            "alone": mitigation.Rerun(**stored["alone"]),
            "without": None if without is None else mitigation.Rerun(**without),
        }
    )


def _atoms(stored: Sequence[Sequence[str]]) -> tuple[Atom, ...]:
    return tuple((target, kind) for target, kind in stored)
