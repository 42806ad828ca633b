"""A rubric edited: what it would move, one transaction, the trail that the learner reads, and taking it back."""

from dataclasses import replace

import pytest
from django.utils import timezone

from labs import outcomes, regrades, rubric_edits
from labs.models import PointsChange, ReviewOutcome, RubricEdition, RubricMove
from labs.rubric_editions import current
from labs.rubric_edits import Stale, Unchanged
from labs.rubrics import Item, Rubric
from tests.factories import AttemptFactory, ReviewFactory, by_key

pytestmark = pytest.mark.django_db

SLUG = "preemption-storm"
WHY = "Two halves are two points."


def rubric(**points: int) -> Rubric:
    """Return the lab's rubric with other points for some items; 0 takes one out."""
    named = {key.replace("_", "-"): each for key, each in points.items()}
    items = [replace(each, points=named.get(each.key, each.points)) for each in standing().items]
    return Rubric(tuple(each for each in items if each.points))


def standing() -> Rubric:
    return current(SLUG).rubric


def released(points=(2, 1, 0, 2, 1)) -> ReviewOutcome:
    now = timezone.now()
    review = ReviewFactory(points=by_key(points), released_at=now)
    return outcomes.settle(review.attempt, now)


def apply(new: Rubric, author, based_on=None):
    number = current(SLUG).number if based_on is None else based_on
    return rubric_edits.apply(SLUG, new, based_on=number, author=author, reason=WHY)


def test_a_preview_says_what_would_move_and_writes_nothing(grader):
    released()
    released((0, 0, 0, 0, 0))
    ReviewFactory(comment="A draft.")
    effect = rubric_edits.effect_of(current(SLUG), rubric(numbers=4))
    assert effect.sentence == "moves 1 of 2 released marks, mean +1.0"
    assert [each.move.by for each in effect.biggest] == [1]
    assert (effect.touched, effect.drafts) == (2, 1)
    assert not RubricEdition.objects.exists()
    assert not PointsChange.objects.exists()


def test_released_points_keep_their_share_and_the_learner_reads_each_change(grader):
    outcome = released()
    edition = apply(rubric(numbers=4, verified_both=1), grader)
    outcome.refresh_from_db()
    assert (outcome.points["numbers"], outcome.points["verified-both"]) == (2, 1)
    assert (outcome.edition, outcome.version) == (1, 2)
    trail = {each.item: each for each in outcome.changes.all()}
    assert set(trail) == {"numbers", "verified-both"}
    numbers = trail["numbers"]
    assert (numbers.before, numbers.after, numbers.of_before, numbers.of_after) == (1, 2, 2, 4)
    assert (numbers.reason, numbers.by, numbers.cause) == (WHY, grader, "rubric")
    assert [each.by for each in rubric_edits.moves_of(edition)] == [0]


def test_an_item_that_is_taken_out_leaves_the_total(grader):
    outcome = released()
    apply(rubric(refutation=0), grader)
    shown = outcomes.shown_to_learner(outcome.attempt)
    assert (shown.total, shown.of) == (5, 8)
    (change,) = outcome.changes.all()
    assert (change.item, change.before, change.after) == ("refutation", 1, None)


def test_an_item_that_is_new_does_not_touch_what_is_released(grader):
    outcome = released()
    extra = Item("blame", "Blames a person", -2)
    apply(Rubric((*standing().items, extra)), grader)
    shown = outcomes.shown_to_learner(outcome.attempt)
    assert (shown.total, shown.of, len(shown.items)) == (6, 9, 5)
    assert not PointsChange.objects.exists()
    assert ReviewOutcome.objects.get().edition == 1
    assert "blame" not in [each.key for each in regrades.lines_of(outcome, timezone.now())]


def test_other_words_and_another_order_move_nothing(grader):
    outcome = released()
    first, *rest = standing().items
    apply(Rubric((*rest, replace(first, title="Says it in other words"))), grader)
    assert not RubricMove.objects.exists()
    shown = outcomes.shown_to_learner(outcome.attempt)
    assert (shown.items[-1].title, shown.items[-1].points) == ("Says it in other words", 2)


def test_of_two_edits_of_one_edition_the_second_is_refused_with_what_stands(grader):
    released()
    apply(rubric(numbers=4), grader)
    with pytest.raises(Stale) as refused:
        apply(rubric(numbers=3), grader, based_on=0)
    assert refused.value.now.number == 1
    assert RubricEdition.objects.count() == 1
    assert ReviewOutcome.objects.get().points["numbers"] == 2


def test_an_edit_that_says_the_same_is_none(grader):
    with pytest.raises(Unchanged):
        apply(standing(), grader)


def test_taken_back_everything_stands_as_it_stood(grader):
    outcome, before = released((2, 1, 0, 1, 1)), standing()
    apply(rubric(numbers=3, verified_both=1, refutation=0), grader)
    undone = rubric_edits.undo(SLUG, 1, author=grader, reason="It was fair before.")
    outcome.refresh_from_db()
    assert outcome.points == by_key((2, 1, 0, 1, 1))
    assert standing() == before
    assert (undone.number, undone.undoes, outcome.version) == (2, 1, 3)
    assert {each.item for each in outcome.changes.filter(version=3)} == {
        "numbers",
        "verified-both",
        "refutation",
    }


def test_what_changed_since_keeps_its_share_when_an_edit_is_taken_back(grader):
    outcome = released((2, 1, 0, 1, 1))
    apply(rubric(numbers=4, refutation=0), grader)
    outcome.refresh_from_db()
    moved = {**outcome.points, "numbers": 4}
    ReviewOutcome.objects.update(points=moved, version=outcome.version + 1)
    rubric_edits.undo(SLUG, 1, author=grader, reason="It was fair before.")
    outcome.refresh_from_db()
    assert outcome.points == by_key((2, 2, 0, 1, 1))


def test_only_the_newest_edition_is_taken_back_and_never_the_file(grader):
    apply(rubric(numbers=4), grader)
    apply(rubric(numbers=3), grader)
    with pytest.raises(Stale):
        rubric_edits.undo(SLUG, 1, author=grader, reason=WHY)
    with pytest.raises(Unchanged):
        rubric_edits.undo("calls-given-up", 0, author=grader, reason=WHY)


def test_an_edit_of_one_lab_leaves_the_others_alone(grader):
    other = AttemptFactory(lab_slug="calls-given-up")
    review = ReviewFactory(attempt=other, points={"numbers": 1}, released_at=timezone.now())
    outcomes.settle(review.attempt, timezone.now())
    apply(rubric(numbers=4), grader)
    assert ReviewOutcome.objects.get(attempt=other).edition == 0


def test_of_two_edits_in_the_same_instant_one_is_stored(grader, monkeypatch):
    outcome, before = released(), current(SLUG)
    apply(rubric(numbers=4), grader)
    # The other one has looked before the first was stored.
    looked = iter([before, current(SLUG)])
    monkeypatch.setattr(rubric_edits, "current", lambda _slug: next(looked))
    with pytest.raises(Stale) as refused:
        rubric_edits.apply(SLUG, rubric(numbers=3), based_on=0, author=grader, reason=WHY)
    assert refused.value.now.number == 1
    outcome.refresh_from_db()
    assert (outcome.edition, outcome.version, outcome.points["numbers"]) == (1, 2, 2)
