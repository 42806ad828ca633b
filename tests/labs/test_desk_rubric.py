"""The desk and its rubric: one that changes under a grader's hands, moments that items point at, drafts that are kept."""

import pytest
from django.urls import reverse

from courseware.models import User
from labs import outcomes, reviews, rubric_edits
from labs.models import ReviewRecord
from labs.rubric_editions import current
from labs.rubrics import Item, Rubric
from tests.factories import UserFactory, by_key, draft, make_review

pytestmark = pytest.mark.django_db

SLUG = "preemption-storm"
TYPED = "Typed with care, and worth keeping."
FULL = (2, 2, 2, 2, 1)


@pytest.fixture
def review(grader):
    found = make_review()
    reviews.claim(found, grader)
    return found


@pytest.fixture
def desk(review):
    return reverse("labs:review", args=[review.public_id])


def sent(points=FULL, comment=TYPED, *, version=0, edition=0, do="save", **moments):
    given = {f"points_{key}": "" if each is None else each for key, each in by_key(points).items()}
    pointed = {f"moment_{key}": each for key, each in moments.items()}
    return {
        **given,
        **pointed,
        "comment": comment,
        "version": version,
        "edition": edition,
        "do": do,
    }


def edit(*, reason="Halves are points.", by=None, **points):
    """Give some items of the lab's rubric other points; 0 takes one out, ``blame`` adds one that takes away."""
    now = current(SLUG)
    items = [
        Item(each.key, each.title, points.get(each.key, each.points), each.note)
        for each in now.rubric.items
    ]
    if "blame" in points:
        items.append(Item("blame", "Blames a person", points["blame"]))
    kept = Rubric(tuple(each for each in items if each.points))
    author = by or UserFactory(role=User.Role.INSTRUCTOR, name="Ines Okafor")
    return rubric_edits.apply(SLUG, kept, based_on=now.number, author=author, reason=reason)


def text(response) -> str:
    return response.content.decode()


# ---------------------------------------------------------------- a rubric that changes meanwhile


def test_a_save_by_an_older_rubric_shows_the_new_one_with_all_that_was_typed(
    grader_client, review, desk
):
    edit(numbers=1, refutation=0, blame=-1)
    answer = grader_client.post(desk, sent())
    page = text(answer)
    assert answer.status_code == 409
    assert "The rubric changed: Ines Okafor edited it" in page
    assert TYPED in page
    assert "Blames a person" in page
    assert "you had given 2" in page
    form = answer.context["form"]
    assert form["points_shortage-or-loop"].value() == "2", "kept by item"
    assert form["points_numbers"].value() == "", "2 may not be given any more"
    review.refresh_from_db()
    assert (review.version, review.points) == (0, {})


def test_after_a_look_at_it_the_same_page_saves(grader_client, review, desk):
    edit(blame=-1)
    data = sent() | {"points_blame": "-1", "edition": 1}
    assert grader_client.post(desk, data).status_code == 302
    review.refresh_from_db()
    assert (review.edition, review.points["blame"], review.score) == (1, -1, 8)


def test_a_draft_by_an_older_rubric_says_what_changed_since(grader_client, grader, review, desk):
    reviews.save(review, grader, draft(FULL, TYPED), version=0)
    edit(numbers=1)
    page = text(grader_client.get(desk))
    assert "The rubric changed" in page
    assert "was 2, is 1" in page
    assert TYPED in page


def test_what_was_given_by_an_older_rubric_is_not_released(grader_client, grader, review):
    version = reviews.save(review, grader, draft(FULL, TYPED), version=0)
    edit(numbers=4)
    release = reverse("labs:review-release", args=[review.public_id])
    assert grader_client.get(release).status_code == 302
    answer = grader_client.post(release, {"version": version})
    assert answer.status_code == 409
    assert "Not released: the rubric changed." in text(answer)
    review.refresh_from_db()
    assert review.released_at is None


# --------------------------------------------------------- items that point, and that take away


def test_an_item_points_at_a_moment_that_the_learner_can_open(grader_client, client, review, desk):
    assert grader_client.post(desk, sent(numbers=1)).status_code == 302
    review.refresh_from_db()
    assert review.moments == {"numbers": 1}
    assert 'value="1" selected' in text(grader_client.get(desk))
    release = reverse("labs:review-release", args=[review.public_id])
    assert grader_client.post(release, {"version": review.version}).status_code == 302
    shown = outcomes.shown_to_learner(review.attempt)
    assert [each.moment for each in shown.items] == [None, 1, None, None, None]


def test_a_moment_that_the_log_does_not_hold_is_refused(grader_client, review, desk):
    answer = grader_client.post(desk, sent(numbers=999))
    assert answer.status_code == 422
    assert "The log holds no such moment" in text(answer)
    assert TYPED in text(answer)


def test_staff_read_what_counts_with_the_attempts_own_world(grader_client, review, desk):
    page = text(grader_client.get(desk))
    assert "What counts" in page
    world = review.attempt.spec.hypotheses["demand"].title
    assert f"This world: {world}." in page
    assert "{{" not in page


def test_an_item_that_takes_away_never_takes_more_than_there_is(grader_client, review, desk):
    edit(blame=-3)
    page = text(grader_client.get(desk))
    assert "takes away up to 3" in page
    assert grader_client.post(desk, sent((1, 0, 0, 0, 0)) | {"points_blame": "-3", "edition": 1})
    review.refresh_from_db()
    assert review.score == 0


# ---------------------------------------------------------------------------- drafts that are kept


def test_of_two_pages_both_drafts_are_kept_and_shown(grader_client, grader, review, desk):
    reviews.save(review, grader, draft((1, 1, 1, 1, 1), "From the other page."), version=0)
    answer = grader_client.post(desk, sent(version=0))
    assert answer.status_code == 409
    kept = {each.is_refused: each for each in ReviewRecord.objects.all()}
    assert (kept[True].comment, kept[True].points) == (TYPED, by_key(FULL))
    assert kept[False].comment == "From the other page."
    grader_client.post(desk, sent(version=0))
    assert ReviewRecord.objects.count() == 2, "the same is not kept twice"
    grader_client.post(desk, sent(comment="Merged.", version=1))
    page = text(grader_client.get(desk))
    assert "Kept drafts" in page
    assert TYPED in page
    assert "From the other page." in page


def test_nobody_else_is_shown_a_kept_draft(grader_client, grader, instructor_client, review, desk):
    reviews.save(review, grader, draft((1, 1, 1, 1, 1), "From the other page."), version=0)
    grader_client.post(desk, sent(version=0))
    page = text(instructor_client.get(desk))
    assert "Kept drafts" not in page
    assert TYPED not in page
