"""Rules, two readers, training and another look in a real browser, in both themes and at both widths."""

import pytest

MAKE = """
from django.utils import timezone
from courseware.models import User
from labs import outcomes, reading_rules, regrades, reviews, training
from labs.models import Attempt, Review
from labs.review_points import Draft, items_of
from tests.factories import UserFactory, make_review

def read(review, reader, points):
    reviews.claim(review, reader)
    draft = Draft(dict(zip([item.key for item in items_of(review.attempt)], points)), "Name the window.")
    reviews.release(review, reader, version=reviews.save(review, reader, draft, version=0))

instructor = User.objects.get(email="instructor@demo.invalid")
one, two = (UserFactory(role="grader") for _ in range(2))
version = reading_rules.newest("").version
reading_rules.change("", {"second_percent": 100, "most_difference": 2}, by=instructor, version=version)
apart, close = make_review(), make_review()
for review, points in ((apart, [0, 0, 2, 2, 0]), (close, [2, 1, 0, 2, 0])):
    read(review, one, [2, 2, 0, 2, 0])
    read(Review.objects.get(attempt=review.attempt, reading=2), two, points)
    Attempt.objects.filter(pk=review.attempt_id).update(status="marked")
outcome = close.attempt.review_outcome
key = items_of(close.attempt)[2].key
asked = regrades.ask(outcome, key, "The third sentence says what it could not help.")
training.add(close.attempt, outcome.points, "The window decides.", by=instructor)
reading_rules.change("", {"second_percent": 0}, by=instructor, version=version + 1)
third = Review.objects.get(attempt=apart.attempt, reading=3)
print(third.public_id, asked.public_id, close.attempt.lab_slug)
"""


@pytest.fixture
def addresses(live_site) -> list[str]:
    """The desk of a third reading, the desk of a request, and a lab with a training set."""
    third, asked, slug = live_site.manage("shell", "--verbosity", "0", "--command", MAKE).split()[
        -3:
    ]
    return [
        f"/labs/reviews/{third}/",
        f"/labs/reviews/regrades/{asked}/",
        f"/labs/reviews/training/{slug}/",
    ]


def test_reading_fairly_shows_well_and_works(
    new_page, sign_in, theme, width, axe, no_sideways_scroll, complaints, addresses
):
    page = new_page(theme=theme, width=width)
    third, asked, training = addresses

    def sound() -> None:
        page.wait_for_load_state()
        axe(page)
        no_sideways_scroll(page)

    sign_in(page, "instructor")
    for address in ("/labs/reviews/rules/", "/labs/reviews/agreement/", training):
        page.goto(address)
        sound()
    sign_in(page, "grader")
    page.goto(third)
    assert page.locator(".earlier tr.apart").count() == 3
    sound()
    page.goto("/labs/reviews/regrades/")
    sound()
    page.goto(asked)
    page.get_by_role("button", name="Claim it for 30 minutes").click()
    page.get_by_label("2 of 2").check()
    page.get_by_label("Why?").fill("It says so, in other words.")
    sound()
    page.get_by_role("button", name="Answer").click()
    page.get_by_text("Upheld: the new points count").wait_for()
    page.goto(training)
    page.get_by_role("button", name="Begin").click()
    page.get_by_role("button", name="See the reference").wait_for()
    sound()
    for group in page.locator("#rubric fieldset").all():
        group.locator("input[value='1']").check(force=True)
    page.get_by_role("button", name="See the reference").click()
    page.get_by_text("The window decides.").wait_for()
    sound()
    assert complaints == []
