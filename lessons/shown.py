"""What a person has shown in each of the five layers: checks right at once, drills solved, labs passed. Pure.

Clicks and pages read show nothing, so they count nowhere here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lessons.markdown import LAYERS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from lessons.content import Lesson, Station

type Place = tuple[str, str]
"""A lesson's slug, and the slug of a station or the key of a check in it."""


@dataclass(frozen=True)
class LayerShown:
    """One row of the map."""

    layer: str
    checks: int
    """Checks about the layer: those that say so, and in its stations those that say nothing else."""
    tried: int
    at_once: int
    """Of these, right on the first try, without a hint."""
    drills: int
    """Drills of the layer's symptoms."""
    solved: int
    """Of these, solved at least once."""
    labs: int
    """Different labs passed whose cause lay in this layer."""
    ahead: tuple[Lesson, Station] | None
    """The layer's first station that is not done."""
    missed: tuple[Lesson, Station] | None
    """The layer's first station with a check that was wrong on the first try, or right with a hint."""
    unsolved: str
    """Number of the layer's first drill that is not solved; empty once all are."""

    @property
    def is_empty(self) -> bool:
        return not (self.at_once or self.solved or self.labs)


def map_of_layers(
    lessons: Iterable[Lesson],
    *,
    first_tries: Mapping[Place, bool],
    done: Collection[Place],
    drills: Mapping[str, Sequence[str]],
    solved: Collection[str],
    labs_passed: Mapping[str, Collection[str]],
) -> tuple[LayerShown, ...]:
    """Return the five layers in the order in which a request meets them.

    ``first_tries`` tells of each check that was tried whether the first try was right without a hint, ``done`` holds
    the stations that are read with every check tried, ``drills`` the numbers of all drills by layer and ``solved``
    those that a person solved, ``labs_passed`` the slugs of labs by layer. A check in a station of several layers counts
    in each, unless it names its own; in a station that names none it counts nowhere.
    """
    stations = [(lesson, station) for lesson in lessons for station in lesson.stations]
    return tuple(
        _row(
            layer,
            stations,
            first_tries,
            done,
            drills=[(number, number in solved) for number in drills.get(layer, ())],
            labs=len(labs_passed.get(layer, ())),
        )
        for layer in LAYERS
    )


def _row(
    layer: str,
    stations: list[tuple[Lesson, Station]],
    first_tries: Mapping[Place, bool],
    done: Collection[Place],
    *,
    drills: list[tuple[str, bool]],
    labs: int,
) -> LayerShown:
    own = [place for place in stations if layer in place[1].layers]

    def verdicts(lesson: Lesson, station: Station) -> Iterator[bool | None]:
        for key, question in station.checks.items():
            if question.is_about(layer, station.layers):
                yield first_tries.get((lesson.slug, key))

    known = [verdict for place in stations for verdict in verdicts(*place)]
    return LayerShown(
        layer=layer,
        checks=len(known),
        tried=sum(verdict is not None for verdict in known),
        at_once=known.count(True),
        drills=len(drills),
        solved=sum(is_solved for _, is_solved in drills),
        labs=labs,
        ahead=next((p for p in own if (p[0].slug, p[1].slug) not in done), None),
        missed=next((p for p in stations if False in verdicts(*p)), None),
        unsolved=next((number for number, is_solved in drills if not is_solved), ""),
    )


def weakest(rows: Iterable[LayerShown]) -> LayerShown:
    """Return the layer with the fewest labs passed; of these, drills solved; of these, share of checks right at once.

    Of equals, the one that a request meets first. Raises ValueError if there are no rows.
    """
    return min(
        rows,
        key=lambda row: (row.labs, row.solved, row.at_once / row.checks if row.checks else 0.0),
    )
