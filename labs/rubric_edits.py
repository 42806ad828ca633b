"""A lab's rubric edited: what it would move, the edit in one transaction, and taking it back.

Released points that an edit concerns are carried over by share, each as a row of a trail that the learner reads. The
edition that an edit was based on must still be the newest when it is stored; drafts are not touched.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction

from courseware.models import Version
from courseware.studio import serving, store
from courseware.studio.pieces import digest_of
from labs.models import PointsChange, Review, ReviewOutcome, RubricEdition, RubricMove
from labs.review_desk import pseudonym
from labs.rubric_editions import at, current
from labs.rubric_points import Move, rescored, summary, total
from labs.rubric_words import values_of
from labs.rubrics import FILE, Rubric, filled, written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from courseware.models import User
    from labs.rubric_editions import Edition

MOST_REASON_CHARACTERS = 300
MOST_MOVES_SHOWN = 10
BATCH = 200
MOST_TRIES = 3
type Points = dict[str, float | int | None]


class Stale(Exception):  # noqa: N818
    """Nothing was stored: somebody stored another edition meanwhile. ``now`` is the newest."""

    def __init__(self, now: Edition) -> None:
        super().__init__(f"{now.lab_slug} is at edition {now.number}")
        self.now = now


class Unchanged(Exception):  # noqa: N818
    """Nothing was stored: the rubric says what it said."""


# ------------------------------------------------------------------------------------- looked at


@dataclass(frozen=True)
class Moved:
    """One released mark that an edit would move, under the sign by which graders know it."""

    name: str
    move: Move


@dataclass(frozen=True)
class Effect:
    """What an edit would do."""

    sentence: str
    biggest: tuple[Moved, ...]
    touched: int
    """Released marks in which an item gets other points, is out of another number, or leaves."""
    drafts: int
    """Drafts that are not released yet; whoever holds one is shown the new rubric with their points."""


def effect_of(edition: Edition, new: Rubric) -> Effect:
    """Return what would become of released points, and how many drafts there are. Nothing is written."""
    moves: list[Moved] = []
    touched = 0
    for outcome in _outcomes(edition.lab_slug):
        old = _rubric_of(outcome, edition)
        after = rescored(outcome.points, old, new)
        touched += bool(_touched(outcome.points, after, old, new))
        move = Move(total(outcome.points), total(after))
        moves.append(Moved(pseudonym(outcome.attempt.public_id), move))
    biggest = sorted((each for each in moves if each.move.by), key=lambda each: -abs(each.move.by))
    drafts = Review.objects.to_read().filter(attempt__lab_slug=edition.lab_slug)
    return Effect(
        sentence=summary([each.move for each in moves]),
        biggest=tuple(biggest[:MOST_MOVES_SHOWN]),
        touched=touched,
        drafts=sum(each.has_draft for each in drafts),
    )


def _outcomes(lab_slug: str) -> Iterator[ReviewOutcome]:
    rows = ReviewOutcome.objects.filter(attempt__lab_slug=lab_slug).select_related("attempt")
    yield from rows.defer("attempt__panel").order_by("pk").iterator()


def _rubric_of(outcome: ReviewOutcome, edition: Edition) -> Rubric:
    """Return the rubric under which an outcome stands; every one of a lab stands under its newest edition."""
    if outcome.edition == edition.number:
        return edition.rubric
    return at(edition.lab_slug, outcome.edition).rubric


# ----------------------------------------------------------------------------------------- stored


def apply(
    lab_slug: str,
    rubric: Rubric,
    *,
    based_on: int,
    author: User | None,
    reason: str,
    from_course: bool = False,
) -> RubricEdition:
    """Store a rubric as the newest edition, and carry released points over to it, in one transaction.

    The lab gets a new version with it in its file, unless that is where it comes from (``from_course``). Raises Stale if ``based_on`` is not the newest edition any more, Unchanged if the rubric says what it said.
    """
    now = current(lab_slug)
    if now.number != based_on:
        raise Stale(now)
    if rubric == now.rubric:
        raise Unchanged
    return _store(now, rubric, author=author, reason=reason, from_course=from_course)


def undo(lab_slug: str, number: int, *, author: User, reason: str) -> RubricEdition:
    """Take the newest edition back: a further edition says again what stood before, and its moves are undone.

    Points that changed since, by another look at an item, are carried over by share instead. Raises Stale if
    ``number`` is not the newest edition, Unchanged for the file of the lab.
    """
    now = current(lab_slug)
    if number == 0:
        raise Unchanged
    if now.number != number:
        raise Stale(now)
    before = at(lab_slug, number - 1)
    return _store(now, before.rubric, author=author, reason=reason, undoes=number)


def _store(
    now: Edition,
    new: Rubric,
    *,
    author: User | None,
    reason: str,
    undoes: int | None = None,
    from_course: bool = False,
) -> RubricEdition:
    slug = now.lab_slug
    moved: dict[int, RubricMove] = {}
    if undoes is not None:
        moves = RubricMove.objects.filter(edition__lab_slug=slug, edition__number=undoes)
        moved = {each.outcome_id: each for each in moves}
    try:
        with transaction.atomic():
            edition = RubricEdition.objects.create(
                lab_slug=slug,
                number=now.number + 1,
                text=written(new),
                author=author,
                reason=reason,
                undoes=undoes,
            )
            if not from_course:
                _publish(slug, edition.text, author=author, reason=reason)
            # Locked, so that another look at an item waits until its points stand under the new edition.
            locked = ReviewOutcome.objects.select_for_update(of=("self",)).order_by("pk")
            rows = locked.filter(attempt__lab_slug=slug).select_related("attempt")
            found = list(rows.defer("attempt__panel"))
            trail = [
                each
                for outcome in found
                for each in _moved_over(outcome, now, edition, new, moved.get(outcome.pk))
            ]
            ReviewOutcome.objects.bulk_update(found, ("points", "edition", "version"), BATCH)
            RubricMove.objects.bulk_create(
                (each for each in trail if isinstance(each, RubricMove)), BATCH
            )
            PointsChange.objects.bulk_create(
                (each for each in trail if isinstance(each, PointsChange)), BATCH
            )
    except (IntegrityError, store.Overtaken):
        raise Stale(current(slug)) from None
    return edition


def _publish(slug: str, text: str, *, author: User | None, reason: str) -> None:
    """Give a lab a version that differs in its rubric's file, so that files and database stay one course."""
    path = f"labs/{slug}"
    for _ in range(MOST_TRIES):
        seen, newest = store.stamp(), store.newest_of(path)
        if newest is None or newest.is_withdrawn:
            return
        files = {**store.files_of(newest), FILE: text.encode()}
        if digest_of(files) == newest.digest:
            return
        with contextlib.suppress(store.Overtaken):
            store.add(
                {path: files},
                seen=seen,
                bases={path: newest.number},
                origin=Version.Origin.STUDIO,
                author=author,
                note=f"Rubric: {reason}",
            )
            transaction.on_commit(serving.refresh, robust=True)
            return
    raise store.Overtaken


def _after(outcome: ReviewOutcome, old: Rubric, new: Rubric, move: RubricMove | None) -> Points:
    if move is None:
        return rescored(outcome.points, old, new)
    if outcome.version == move.version:
        return dict(move.before)
    # What has left with the edit comes back; what was changed since keeps its share.
    back = {key: given for key, given in move.before.items() if key not in move.after}
    return rescored(outcome.points, old, new) | back


def _moved_over(
    outcome: ReviewOutcome,
    now: Edition,
    edition: RubricEdition,
    new: Rubric,
    undone: RubricMove | None,
) -> Iterator[RubricMove | PointsChange]:
    """Put an outcome under an edition, and yield its move and a row of the trail for each item that is touched."""
    old = _rubric_of(outcome, now)
    before: Points = outcome.points
    after = _after(outcome, old, new, undone)
    touched = _touched(before, after, old, new)
    outcome.edition = edition.number
    if not touched:
        return
    outcome.points = after
    outcome.version += 1
    yield RubricMove(
        edition=edition, outcome=outcome, before=before, after=after, version=outcome.version
    )
    values = _values(outcome)
    for key in touched:
        item = new.item(key) or old.item(key)
        yield PointsChange(
            outcome=outcome,
            version=outcome.version,
            item=key,
            title=filled(item.title, values) if item else key,
            before=before.get(key),
            after=after.get(key),
            of_before=_size(_worth(old, key)),
            of_after=_size(_worth(new, key)),
            cause=PointsChange.Cause.RUBRIC,
            reason=edition.reason,
            by=edition.author,
            at=edition.created_at,
        )


def _values(outcome: ReviewOutcome) -> dict[str, str]:
    attempt = outcome.attempt
    try:
        return values_of(attempt.spec, attempt.seed, attempt.mark)
    except LookupError:  # The version of the lab that it was taken in is gone.
        return {}


def _touched(before: Points, after: Points, old: Rubric, new: Rubric) -> list[str]:
    """Return the items with other points, or with points out of another number, in the order of the rubric."""
    keys = (*new.keys, *(key for key in old.keys if new.item(key) is None))
    return [
        key
        for key in keys
        if (key in before or key in after)
        and (before.get(key), _worth(old, key)) != (after.get(key), _worth(new, key))
    ]


def _worth(rubric: Rubric, key: str) -> int | None:
    item = rubric.item(key)
    return item.points if item else None


def _size(points: int | None) -> int | None:
    """Return how many points an item gives or takes: the trail keeps no signs."""
    return None if points is None else abs(points)


def moves_of(edition: RubricEdition) -> list[Move]:
    """Return what an edition did to the totals of what was released."""
    return [Move(total(each.before), total(each.after)) for each in edition.moves.all()]
