"""The page on which a rubric is edited: what each button does, and that nothing typed is lost."""

import pytest
from django.urls import reverse
from django.utils import timezone

from labs import outcomes, rubric_edits, rubric_forms
from labs.models import RubricEdition
from labs.rubric_editions import current
from labs.rubrics import Item, Rubric
from tests.factories import ReviewFactory, by_key

pytestmark = pytest.mark.django_db

SLUG = "preemption-storm"
ADDRESS = "/labs/rubrics/preemption-storm/"
WHY = "Two halves are two points."


def sent(do="preview", *, based_on=0, reason="", previewed="", **changes):
    """What the page sends, with some of its fields typed over."""
    data = {"do": do, "based_on": based_on, "reason": reason, "previewed": previewed}
    for place, item in enumerate(current(SLUG).rubric.items):
        data |= {f"key-{place}": item.key, f"title-{place}": item.title}
        data |= {f"points-{place}": item.points, f"note-{place}": item.note}
    return data | {key.replace("_", "-"): each for key, each in changes.items()}


def text(response) -> str:
    return response.content.decode()


def titles(response) -> list[str]:
    return [each.title for each in response.context["form"].items]


def applied(client, **changes):
    """Preview an edit and apply it."""
    preview = client.post(ADDRESS, sent(**changes))
    digest = preview.context["form"].digest
    return client.post(ADDRESS, sent("apply", reason=WHY, previewed=digest, **changes))


@pytest.fixture
def outcome():
    now = timezone.now()
    review = ReviewFactory(points=by_key((2, 1, 0, 2, 1)), released_at=now)
    return outcomes.settle(review.attempt, now)


def test_graders_and_instructors_may_edit_and_nobody_else(
    client, learner_client, grader_client, instructor_client
):
    for address in (ADDRESS, reverse("labs:rubrics")):
        assert client.get(address).status_code == 302
        assert learner_client.get(address).status_code == 403
        assert grader_client.get(address).status_code == 200
        assert instructor_client.get(address).status_code == 200
    assert learner_client.post(ADDRESS, sent("apply")).status_code == 403
    assert learner_client.post(f"{ADDRESS}undo/", {"reason": WHY}).status_code == 403
    assert grader_client.get("/labs/rubrics/no-such-lab/").status_code == 404


def test_an_edit_is_looked_at_then_applied_with_its_reason(grader_client, grader, outcome):
    preview = grader_client.post(ADDRESS, sent(points_1=4))
    assert "moves 1 of 1 released mark, mean +1.0" in text(preview)
    assert not RubricEdition.objects.exists()
    answer = applied(grader_client, points_1=4)
    assert answer.status_code == 302
    stored = RubricEdition.objects.get()
    assert (stored.number, stored.author, stored.reason) == (1, grader, WHY)
    outcome.refresh_from_db()
    assert outcome.points["numbers"] == 2
    assert "Edition 1 stands; it moves 1 of 1" in text(grader_client.get(ADDRESS))


def test_without_a_reason_nothing_is_applied_and_the_preview_stands(grader_client):
    preview = grader_client.post(ADDRESS, sent(points_1=4))
    digest = preview.context["form"].digest
    answer = grader_client.post(ADDRESS, sent("apply", previewed=digest, points_1=4))
    assert answer.status_code == 422
    assert "Say why" in text(answer)
    assert "What it would do" in text(answer)


def test_what_was_changed_after_the_preview_is_shown_once_more(grader_client):
    preview = grader_client.post(ADDRESS, sent(points_1=4))
    digest = preview.context["form"].digest
    answer = grader_client.post(ADDRESS, sent("apply", reason=WHY, previewed=digest, points_1=3))
    assert "you changed it after the preview" in text(answer)
    assert not RubricEdition.objects.exists()


def test_items_are_added_taken_out_and_moved_and_what_was_typed_stays(grader_client):
    typed = {"title_0": "Typed and not lost"}
    up = grader_client.post(ADDRESS, sent("up-1", **typed))
    assert titles(up)[:2] == ["Uses numbers from own readings", "Typed and not lost"]
    down = grader_client.post(ADDRESS, sent("down-0", **typed))
    assert titles(down) == titles(up)
    out = grader_client.post(ADDRESS, sent("remove-1", **typed))
    assert (titles(out)[0], len(titles(out))) == ("Typed and not lost", 4)
    more = grader_client.post(ADDRESS, sent("add", **typed))
    assert (titles(more)[0], titles(more)[-1]) == ("Typed and not lost", "")
    for do in ("up-9", "remove-x", "up-", "nonsense"):
        assert grader_client.post(ADDRESS, sent(do, **typed)).status_code == 200


@pytest.mark.parametrize(
    ("field", "typed", "says"),
    [
        ("points_1", "0", "1 to 20, or -1 to -20"),
        ("points_1", "two", "A whole number"),
        ("points_1", "-1", "Take it out and add another"),
        ("title_1", " ", "Say what is given points for"),
        ("title_1", "For {{ hypotheses }}", "did you mean &#x27;hypothesis&#x27;"),
        ("note_1", "n" * 2001, "2,000 characters at most"),
    ],
)
def test_what_is_wrong_is_said_where_it_stands_and_nothing_is_lost(
    grader_client, field, typed, says
):
    answer = grader_client.post(ADDRESS, sent("apply", **{field: typed, "title_0": "Not lost"}))
    assert answer.status_code == 422
    assert says in text(answer)
    assert titles(answer)[0] == "Not lost"
    assert not RubricEdition.objects.exists()


def test_a_rubric_without_items_that_give_points_is_refused(grader_client):
    answer = grader_client.post(ADDRESS, {"do": "preview", "based_on": 0})
    assert answer.status_code == 422
    assert "At least one item must give points." in text(answer)


def test_an_edit_of_an_older_edition_shows_both_side_by_side(grader_client, instructor):
    items = current(SLUG).rubric.items
    theirs = Rubric((*items, Item("theirs", "Their item", 1)))
    rubric_edits.apply(SLUG, theirs, based_on=0, author=instructor, reason="Theirs first.")
    mine = sent("apply", reason=WHY, title_0="Mine, typed with care")
    answer = grader_client.post(ADDRESS, mine | {"based_on": 0})
    assert answer.status_code == 409
    assert "Their item" in text(answer)
    assert "Theirs first." in text(answer)
    assert titles(answer)[0] == "Mine, typed with care"
    assert answer.context["based_on"] == 1
    assert RubricEdition.objects.count() == 1


def test_a_new_item_gets_its_key_from_its_title():
    stands = current(SLUG).rubric
    new = {
        "title-0": "Names the loop, and what feeds it",
        "points-0": "1",
        "note-0": "",
        "key-0": "",
    }
    again = {"title-1": "Names the loop, and what feeds it", "points-1": "−1", "key-1": ""}
    form = rubric_forms.checked(rubric_forms.typed(new | again, stands), stands, ())
    assert form.rubric.keys == ("names-the-loop-and", "names-the-loop-and-2")
    assert form.rubric.items[1].takes_away


def test_the_newest_edition_is_taken_back_with_a_reason(grader_client, outcome):
    applied(grader_client, points_1=4)
    undo = f"{ADDRESS}undo/"
    assert grader_client.post(undo, {"based_on": 1}).status_code == 422
    grader_client.post(undo, {"based_on": 1, "reason": "It was fair before."})
    outcome.refresh_from_db()
    assert outcome.points["numbers"] == 1
    page = text(grader_client.get(ADDRESS))
    assert "Edition 2 says again what edition 0 said." in page
    assert "takes edition 1 back" in page
    grader_client.post(undo, {"based_on": 1, "reason": "Twice."})
    assert "there is a newer edition" in text(grader_client.get(ADDRESS))
    assert RubricEdition.objects.count() == 2


def test_the_list_says_which_rubrics_were_edited_and_by_whom(grader_client, grader):
    assert "as in the lab&#x27;s file" in text(grader_client.get(reverse("labs:rubrics"))) or (
        "as in the lab's file" in text(grader_client.get(reverse("labs:rubrics")))
    )
    applied(grader_client, points_1=4)
    assert f"edition 1, {grader}" in text(grader_client.get(reverse("labs:rubrics")))
