"""Training: a set of settled attempts, tries at it, and the queue that stays closed until one is passed."""

from dataclasses import replace

import pytest
from django.urls import reverse
from django.utils import timezone

from courseware.models import User
from labs import outcomes, reading_rules, review_queue, reviews, rubric_edits, training
from labs.models import Review, TrainingCase, TrainingRun
from labs.moderation import mean_off
from labs.review_points import items_of
from labs.rubric_editions import current
from labs.rubrics import Item, Rubric
from tests.factories import AttemptFactory, ReviewFactory, UserFactory, by_key, make_review
from tests.labs.in_the_room import text

pytestmark = pytest.mark.django_db

SLUG = "preemption-storm"
POINTS = [2, 1, 0, 2, 1]


def settled(points=POINTS, reader=None) -> Review:
    now = timezone.now()
    review = ReviewFactory(points=by_key(points), claimed_by=reader, released_at=now)
    outcomes.settle(review.attempt, now)
    return review


@pytest.fixture
def needed(instructor):
    """The rules ask graders to train, and to lie within half a point an item."""
    reading_rules.change("", {"needs_training": True}, by=instructor, version=0)


@pytest.fixture
def cases(instructor) -> list[TrainingCase]:
    attempts = [settled().attempt for _ in range(2)]
    return [
        training.add(each, by_key(POINTS), "The window decides.", by=instructor)
        for each in attempts
    ]


def give(run: TrainingRun, points: list[int]) -> TrainingRun:
    for key in run.cases:
        case = TrainingCase.objects.get(pk=key)
        training.answer(run, case, by_key(points))
    run.refresh_from_db()
    return run


# ------------------------------------------------------------------------------------------ the rule


def test_points_off_are_averaged_over_every_item_that_both_have():
    assert mean_off([({"a": 2, "b": 0}, {"a": 1, "b": 0, "gone": 1})]) == 0.5
    assert mean_off([]) == 0.0


def test_a_try_within_the_rules_is_passed(grader, needed, cases):
    run = give(training.begin(grader, SLUG), [2, 1, 1, 2, 1])
    assert (run.passed, run.off, run.most_off) == (True, 0.2, 0.5)


def test_a_try_beyond_them_is_not_and_may_be_made_again(grader, needed, cases):
    run = give(training.begin(grader, SLUG), [0, 0, 2, 2, 1])
    assert (run.passed, run.off) == (False, 1.0)
    again = training.begin(grader, SLUG)
    assert (again.number, sorted(again.cases)) == (2, sorted(run.cases))


def test_the_order_is_the_tries_own_and_stays(grader, instructor):
    for _ in range(6):
        training.add(settled().attempt, {}, "Why.", by=instructor)
    first = training.begin(grader, SLUG)
    assert training.begin(grader, SLUG) == first
    give(first, [0] * 5)
    TrainingRun.objects.update(passed=False)
    assert training.begin(grader, SLUG).cases != first.cases


def test_the_first_answer_stands(grader, cases):
    run = training.begin(grader, SLUG)
    case = TrainingCase.objects.get(pk=run.cases[0])
    for points in (POINTS, [0] * 5):
        training.answer(run, case, by_key(points))
    assert run.answers.get().points == by_key(POINTS)


def test_a_case_that_was_taken_out_holds_no_try_up(grader, cases):
    run = training.begin(grader, SLUG)
    training.remove(TrainingCase.objects.get(pk=run.cases[1]))
    case = TrainingCase.objects.get(pk=run.cases[0])
    training.answer(run, case, by_key(POINTS))
    run.refresh_from_db()
    assert run.passed


def test_an_edit_of_the_rubric_moves_the_reference_and_what_was_given_by_share(
    grader, grader_client, instructor, needed, cases
):
    run = training.begin(grader, SLUG)
    first, second = (TrainingCase.objects.get(pk=key) for key in run.cases)
    training.answer(run, first, by_key(POINTS))
    now = current(SLUG)
    items = [replace(each, points=2 * each.points) for each in now.rubric.items]
    new = Item("blames", "Blames a part that was healthy", -2)
    rubric_edits.apply(
        SLUG, Rubric((*items, new)), based_on=now.number, author=instructor, reason="Twice as fine."
    )
    doubled = {key: 2 * each for key, each in by_key(POINTS).items()}
    assert training.reference(second) == doubled
    training.answer(run, second, {**doubled, "blames": -2})
    run.refresh_from_db()
    assert (run.off, run.passed) == (0, True)
    page = grader_client.get(reverse("labs:training-lab", args=[SLUG])).content.decode()
    assert page.count("all 5 items as the reference") == 2


def test_nobody_trains_with_what_they_wrote_or_read(grader, instructor, cases):
    own = settled()
    own.attempt.learner = grader
    own.attempt.save()
    for review in (own, settled(reader=grader)):
        training.add(review.attempt, {}, "Why.", by=instructor)
    assert set(training.cases_for(grader, SLUG)) == set(cases)


# ----------------------------------------------------------------------------------------- the queue


def test_the_queue_of_a_lab_stays_closed_until_its_training_is_passed(grader, needed, cases):
    waiting = ReviewFactory()
    assert training.untrained_labs(grader) == {SLUG}
    assert review_queue.take_next(grader) is None
    assert not reviews.open_to(grader).filter(pk=waiting.pk).exists()
    give(training.begin(grader, SLUG), POINTS)
    assert review_queue.take_next(grader) == waiting


def test_who_holds_one_already_may_finish_it(grader, instructor, cases):
    held = ReviewFactory()
    reviews.claim(held, grader)
    reading_rules.change("", {"needs_training": True}, by=instructor, version=0)
    assert list(reviews.waiting(grader)) == [held]


def test_without_a_set_or_a_rule_nobody_trains(grader, instructor, cases):
    assert training.untrained_labs(grader) == set()
    reading_rules.change("", {"needs_training": True}, by=instructor, version=0)
    assert training.untrained_labs(instructor) == set()
    for each in cases:
        training.remove(each)
    assert training.untrained_labs(grader) == set()


def test_released_points_are_kept_from_whoever_may_train_with_them(grader, needed, cases):
    released = cases[0].attempt.reviews.get()
    assert reviews.is_kept_from(released, grader, None, is_untrained=True)


# ----------------------------------------------------------------------------------------- the pages


@pytest.fixture
def case(instructor):
    """A case with a whole log, written by somebody with a name to look for."""
    review = make_review()
    learner = review.attempt.learner
    learner.name = "Wilhelmina Quastenflosser"
    learner.save()
    now = timezone.now()
    Review.objects.update(points=by_key(POINTS), released_at=now, comment="The released comment.")
    outcomes.settle(review.attempt, now)
    note = "The window decides the third item."
    return training.add(review.attempt, by_key(POINTS), note, by=instructor)


def sent(case, points):
    keys = [item.key for item in items_of(case.attempt)]
    return {f"points_{key}": str(each) for key, each in zip(keys, points, strict=True)}


def test_a_grader_trains_sees_the_reference_afterwards_and_gets_the_queue(
    grader_client, needed, case
):
    queue = reverse("labs:review-queue")
    waiting = ReviewFactory()
    desk = reverse("labs:review", args=[waiting.public_id])
    page = grader_client.get(queue).content.decode()
    assert "Training first" in page
    assert desk not in page
    assert grader_client.get(desk).status_code == 404
    assert (
        grader_client.post(reverse("labs:review-claim", args=[waiting.public_id])).status_code
        == 404
    )
    lab = reverse("labs:training-lab", args=[SLUG])
    address = grader_client.post(lab).headers["Location"]
    page = grader_client.get(address).content.decode()
    for hidden in (case.note, "The released comment.", "Quastenflosser"):
        assert hidden not in page
    assert grader_client.post(address, sent(case, POINTS)).headers["Location"] == address
    assert case.note in text(grader_client.get(address))
    assert "Passed: 0.00 points an item" in text(grader_client.get(lab))
    assert desk in grader_client.get(queue).content.decode()


def test_an_item_left_open_is_asked_for_and_the_others_stay(grader_client, case):
    lab = reverse("labs:training-lab", args=[SLUG])
    address = grader_client.post(lab).headers["Location"]
    said = sent(case, POINTS)
    missing = list(said)[1]
    answer = grader_client.post(address, {**said, missing: "17"})
    assert answer.status_code == 422
    assert "1 item still needs points." in text(answer)
    assert answer.content.decode().count(" checked") == 4
    assert not case.answers.exists()


def test_a_case_that_is_in_no_try_of_theirs_is_not_there(grader_client, case):
    address = reverse("labs:training-case", args=[SLUG, case.public_id])
    assert grader_client.get(address).status_code == 404


def test_an_instructor_makes_a_set_from_what_is_settled(instructor_client, instructor):
    review = settled()
    add = reverse("labs:training-add", args=[review.public_id])
    desk = instructor_client.get(reverse("labs:review", args=[review.public_id]))
    assert add in desk.content.decode()
    keys = [item.key for item in items_of(review.attempt)]
    said = {f"points_{key}": str(each) for key, each in zip(keys, POINTS, strict=True)}
    answer = instructor_client.post(add, {**said, "note": ""})
    assert answer.status_code == 422
    assert "Say why: it is what people learn from." in text(answer)
    assert instructor_client.post(add, {**said, "note": "The window."}).status_code == 302
    case = TrainingCase.objects.get()
    assert (case.points, case.by) == (by_key(POINTS), instructor)
    instructor_client.post(add, {**said, "note": "The window, at last."})
    assert [each.note for each in training.cases_of(SLUG)] == ["The window, at last."]
    case = training.cases_of(SLUG).get()
    instructor_client.post(reverse("labs:training-remove", args=[case.public_id]))
    assert not training.cases_of(SLUG)


def test_a_mean_with_a_half_can_be_the_reference(instructor_client):
    now = timezone.now()
    attempt = AttemptFactory()
    for reading, points in enumerate(([2, 1, 0, 2, 1], [2, 2, 0, 2, 1]), start=1):
        ReviewFactory(attempt=attempt, reading=reading, points=by_key(points), released_at=now)
    outcomes.settle(attempt, now)
    page = instructor_client.get(reverse("labs:training-add", args=[attempt.public_id]))
    assert 'value="1.5" checked' in page.content.decode()


def test_what_is_not_settled_trains_nobody(instructor_client):
    review = ReviewFactory()
    add = reverse("labs:training-add", args=[review.public_id])
    assert instructor_client.get(add).status_code == 302


def test_graders_make_no_sets_and_learners_see_none(grader_client, learner_client, case):
    for address in (
        reverse("labs:training-add", args=[case.attempt.public_id]),
        reverse("labs:training-remove", args=[case.public_id]),
    ):
        assert grader_client.post(address).status_code == 403
    for name in ("training", "training-lab"):
        address = reverse(f"labs:{name}", args=[SLUG] if name == "training-lab" else [])
        assert learner_client.get(address).status_code == 403
        assert "Take out" not in text(grader_client.get(address))
    assert training.cases_of(SLUG).exists()


def test_instructors_see_who_has_passed(instructor_client, case):
    grader = UserFactory(role=User.Role.GRADER, name="Ottokar Zwickenpflug")
    give(training.begin(grader, SLUG), POINTS)
    assert "passed by Ottokar Zwickenpflug" in text(instructor_client.get(reverse("labs:training")))
