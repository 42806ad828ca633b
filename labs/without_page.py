"""What the page of runs without a change shows: one card a change, its verdict, and the alarm in both runs. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs import charts
from labs.debrief import paths
from labs.without import Verdict, verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labs.atoms import Atom
    from labs.specs import LabSpec
    from labs.twins import ToldTwin
    from labs.without import LeftOut

SENTENCES = {
    Verdict.NEEDED: "This is what helped: every promise held with it, and without it one is missed.",
    Verdict.IDLE: "It was not needed: without it every promise holds as well.",
    Verdict.HARMED: "It did harm: without it every promise would have held.",
    Verdict.NOT_ENOUGH: "It did not decide: promises are missed with it and without it.",
}
ICONS = {
    Verdict.NEEDED: "check",
    Verdict.IDLE: "half",
    Verdict.HARMED: "cross",
    Verdict.NOT_ENOUGH: "half",
}


@dataclass(frozen=True)
class Promise:
    """One promise in both runs, per cent of requests that met it."""

    title: str
    target: str
    you: str
    without: str


@dataclass(frozen=True)
class Card:
    """One change of the attempt, and what leaving it out showed, if that has been run."""

    number: int
    target: str
    kind: str
    title: str
    in_force: bool
    """Whether it was still in force at the end."""
    sentence: str = ""
    icon: str = ""
    promises: tuple[Promise, ...] = ()
    hurt: tuple[int, int] = (0, 0)
    """Users hurt from the page on, with it and without it."""
    figure: charts.Figure | None = None
    spoken: str = ""
    table: tuple[tuple[str, ...], ...] = ()

    @property
    def id_suffix(self) -> str:
        """The number as a template can join it to an id."""
        return str(self.number)


def title_of(spec: LabSpec, atom: Atom) -> str:
    """Return a change as people know it: the lab's title of it, or the flag itself."""
    target, kind = atom
    if target == "engine" and kind.startswith("--"):
        return kind
    titles = (each.title for each in spec.changes.values() if each.command.split()[0] == kind)
    return next(titles, kind)


def cards_of(
    spec: LabSpec,
    changes: Sequence[Atom],
    now: ToldTwin,
    *,
    in_force: Sequence[Atom],
    found: Mapping[Atom, LeftOut],
) -> tuple[Card, ...]:
    """Return a card for each change. ``now`` is the world as it was left; ``found`` are the runs that are done."""
    return tuple(
        _card(spec, number, atom, now, in_force=atom in in_force, left_out=found.get(atom))
        for number, atom in enumerate(changes, start=1)
    )


def _card(
    spec: LabSpec,
    number: int,
    atom: Atom,
    now: ToldTwin,
    *,
    in_force: bool,
    left_out: LeftOut | None,
) -> Card:
    target, kind = atom
    title = title_of(spec, atom)
    if left_out is None:
        return Card(number, target, kind, title, in_force)
    said = verdict(with_it=now.passes, without_it=left_out.passes)
    runs = {"you": now.alarm, "without it": left_out.alarm}
    last_s = max((at_s for points in runs.values() for at_s, _ in points), default=0)
    figure = charts.paths_figure(
        runs,
        from_s=paths.from_s(spec),
        to_s=last_s,
        target=spec.alarm.target,
        log_scale=spec.signals[spec.alarm.signal].transform in {"ln", "ln1p"},
    )
    return Card(
        number,
        target,
        kind,
        title,
        in_force,
        sentence=SENTENCES[said],
        icon=ICONS[said],
        promises=tuple(
            Promise(
                spec.slos[each.name].title,
                _percent(each.target),
                _percent(now.fared[each.name].met),
                _percent(each.met),
            )
            for each in left_out.held
        ),
        hurt=(now.users_hurt, left_out.users_hurt),
        figure=figure,
        spoken=paths.spoken(runs, spec),
        table=paths.table(runs, spec),
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
