"""Two graders and an explanation in a real browser: claim, score, lose, release."""

import pytest

MAKE = "from tests.factories import make_review; print(make_review().public_id)"
EMPTY = "from labs.models import Review; Review.objects.all().delete()"
EXPIRE = """
from datetime import timedelta
from django.utils import timezone
from labs.models import Review
Review.objects.filter(released_at=None).update(lease_until=timezone.now() - timedelta(seconds=1))
"""


@pytest.fixture
def desk(live_site) -> str:
    """The address of a review that nobody has claimed."""
    public_id = live_site.manage("shell", "--verbosity", "0", "--command", MAKE).split()[-1]
    return f"/labs/reviews/{public_id}/"


def give(page, *points: int) -> None:
    # A click goes to a place: it must not move while style sheets and fonts arrive.
    page.wait_for_load_state("load")
    page.locator("#item-0").scroll_into_view_if_needed()
    for item, each in enumerate(points):
        page.locator(f"#item-{item} input[value='{each}']").check(force=True)


def claim(page, desk: str) -> None:
    page.goto(desk)
    page.get_by_role("button", name="Claim it for 30 minutes").click()
    page.get_by_role("button", name="Save draft").wait_for()
    page.wait_for_load_state()  # Its keys work once its script is there.


def test_an_explanation_is_claimed_scored_and_released(
    new_page, sign_in, theme, width, axe, no_sideways_scroll, complaints, desk
):
    page = new_page(theme=theme, width=width)

    def sound() -> None:
        page.wait_for_load_state()
        axe(page)
        no_sideways_scroll(page)

    sign_in(page, "grader")
    page.goto("/labs/reviews/")
    sound()
    page.goto(desk)
    sound()
    page.get_by_role("button", name="Claim it for 30 minutes").click()
    assert "Yours for" in page.locator(".lease").inner_text()
    page.locator("summary").first.click()
    sound()
    give(page, 2, 1)
    page.get_by_label("To the learner").fill("Name the window of your reading.")
    page.get_by_role("button", name="Release…").click()
    assert "Saved, not released." in page.locator("main [role=alert]").inner_text()
    page.locator("#item-2 input:focus").wait_for(state="attached")
    sound()
    assert complaints == [complaints[0]], "the browser notes the 422, and nothing else"
    complaints.clear()
    give(page, 2, 1, 2, 2, 0)
    assert page.locator("[data-sum]").inner_text() == "7"
    page.get_by_role("button", name="Release…").click()
    page.get_by_role("heading", name="Release attempt").wait_for()
    sound()
    page.get_by_role("button", name="Release", exact=True).click()
    assert page.url.endswith("/labs/reviews/")
    assert "is released" in page.locator("[role=status]").inner_text()
    sound()
    page.goto(desk)
    assert page.get_by_role("button", name="Save draft").count() == 0
    assert "Name the window" in page.locator(".rubric").inner_text()
    sound()
    assert complaints == []


def test_what_was_typed_stays_when_another_grader_takes_over(
    new_page, sign_in, theme, width, axe, no_sideways_scroll, live_site, desk
):
    page, other = new_page(theme=theme, width=width), new_page()
    sign_in(page, "grader")
    claim(page, desk)
    give(page, 2, 2)
    page.get_by_label("To the learner").fill("Typed while the lease ran out.")
    live_site.manage("shell", "--verbosity", "0", "--command", EXPIRE)
    sign_in(other, "grader")
    claim(other, desk)
    page.get_by_role("button", name="Save draft").click()
    page.get_by_text("took it.").wait_for()
    page.wait_for_load_state()
    assert page.get_by_label("To the learner").input_value() == "Typed while the lease ran out."
    assert page.locator("#item-1 input:checked").get_attribute("value") == "2"
    axe(page)
    no_sideways_scroll(page)
    other.get_by_role("button", name="Save, hand back").click()
    other.get_by_text("back in the queue").wait_for()
    page.get_by_role("button", name="Try again").click()
    # The other grader's draft, empty as it is, has never been shown here: it is shown beside.
    page.get_by_text("another page saved this draft").wait_for()
    page.wait_for_load_state()
    axe(page)
    no_sideways_scroll(page)
    page.get_by_role("button", name="Save draft").click()
    page.get_by_text("Saved. Yours for another").wait_for()
    assert page.get_by_label("To the learner").input_value() == "Typed while the lease ran out."


def test_a_grader_works_from_the_keyboard(page, sign_in, axe, focus_is_visible, desk):
    sign_in(page, "grader")
    claim(page, desk)
    page.locator("#item-0 input").first.focus()
    for key in "122":  # Full points for the first; the second goes from full to one less.
        page.keyboard.press(key)
    assert page.locator("#item-0 input:checked").get_attribute("value") == "2"
    assert page.locator("#item-1 input:checked").get_attribute("value") == "1"
    assert page.locator("[data-sum]").inner_text() == "3"
    page.keyboard.press("ArrowRight")
    assert page.locator("#item-1 input:checked").get_attribute("value") == "2"
    focus_is_visible(page)
    comment = page.get_by_label("To the learner")
    comment.focus()
    page.keyboard.type("At 1:45 you read 1.14.")
    assert comment.input_value() == "At 1:45 you read 1.14."
    assert page.locator("[data-sum]").inner_text() == "4"
    page.keyboard.press("Tab")
    focus_is_visible(page)
    page.keyboard.press("Enter")
    page.get_by_text("Saved. Yours for another").wait_for()
    axe(page)


def test_a_grader_goes_through_the_queue_by_keys(
    new_page, sign_in, theme, width, axe, no_sideways_scroll, complaints, live_site
):
    for script in (EMPTY, MAKE, MAKE):  # Next may not give what another test has begun.
        live_site.manage("shell", "--verbosity", "0", "--command", script)
    page = new_page(theme=theme, width=width)
    page.clock.install()
    sign_in(page, "grader")
    page.goto("/labs/reviews/")
    page.wait_for_load_state()
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keys").wait_for()
    axe(page)
    no_sideways_scroll(page)
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.get_by_role("button", name="Save draft").wait_for()
    page.wait_for_load_state()
    first = page.url
    for key in ("j", "j", "k", "2", "j", "1"):
        page.keyboard.press(key)
    assert page.locator("#item-1 input:checked").get_attribute("value") == "2"
    assert page.locator("#item-0 input:checked").get_attribute("value") == "2"
    with page.expect_response("**/keep/") as kept:
        page.clock.fast_forward("04:01")
    assert kept.value.ok
    page.locator("[data-lease] output").wait_for()
    page.get_by_label("To the learner").fill("sound")
    page.get_by_label("To the learner").press("n")
    assert page.get_by_label("To the learner").input_value().endswith("n")
    page.locator("#item-0 input:checked").focus()
    page.keyboard.press("n")
    page.wait_for_url(lambda url: url != first)
    page.get_by_role("button", name="Save draft").wait_for()
    page.wait_for_load_state()
    page.keyboard.press("x")
    page.get_by_label("Why?").fill("I know who wrote this.")
    axe(page)
    no_sideways_scroll(page)
    page.keyboard.press("Enter")
    page.get_by_text("Next gives it to others, not to you.").wait_for()
    for address in ("load/", "keys/"):
        page.goto(f"/labs/reviews/{address}")
        page.wait_for_load_state()
        axe(page)
        no_sideways_scroll(page)
    assert complaints == []


def test_leaving_with_unsaved_words_asks_first(page, sign_in, desk):
    sign_in(page, "grader")
    claim(page, desk)
    page.get_by_label("To the learner").fill("Half a thought")
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.get_by_role("link", name="The whole queue").click(no_wait_after=True)
    page.wait_for_timeout(300)
    assert asked == ["beforeunload"]
    assert page.get_by_label("To the learner").input_value() == "Half a thought"


def test_everything_works_without_javascript(new_page, sign_in, no_sideways_scroll, desk):
    page = new_page(width=320, scripts=False)
    sign_in(page, "grader")
    claim(page, desk)
    give(page, 2, 2, 2, 2, 1)
    page.get_by_label("To the learner").fill("Well argued from the numbers.")
    page.get_by_role("button", name="Save, keep 30 min more").click()
    assert page.get_by_label("To the learner").input_value() == "Well argued from the numbers."
    page.get_by_role("button", name="Release…").click()
    page.wait_for_load_state()  # Until our font is there, the system's own may be wider.
    page.evaluate("document.fonts.ready")
    no_sideways_scroll(page)
    page.get_by_role("button", name="Release", exact=True).click()
    assert "9 of 9" in page.locator("main").inner_text()


def test_a_learner_is_told_that_the_queue_is_for_others(page, sign_in, complaints):
    sign_in(page, "learner")
    assert page.goto("/labs/reviews/").status == 403
    assert page.get_by_role("link", name="Review", exact=True).count() == 0
    complaints.clear()  # The browser notes the 403.


def test_a_round_of_marking_anew_reaches_its_end_on_the_page(
    new_page, sign_in, theme, width, axe, no_sideways_scroll, complaints, desk
):
    page = new_page(theme=theme, width=width)
    sign_in(page, "instructor")
    page.goto("/labs/remarkings/")
    page.wait_for_load_state()
    axe(page)
    no_sideways_scroll(page)
    page.get_by_label("Slow first tokens on atlas-70b").check()
    page.get_by_role("button", name="Work out what would change").click()
    page.get_by_role(
        "heading", name="Nothing to apply"
    ).wait_for()  # The worker did it; the page looked again.
    assert "No mark changes." in page.locator(".lead").inner_text()
    page.wait_for_load_state()
    axe(page)
    no_sideways_scroll(page)
    assert complaints == []


def test_a_rubric_is_edited_after_a_look_at_what_it_moves(
    new_page, sign_in, theme, width, axe, no_sideways_scroll, complaints
):
    page = new_page(theme=theme, width=width)
    sign_in(page, "instructor")
    page.goto("/labs/rubrics/late-in-turns/")
    page.get_by_role("button", name="Add an item").click()
    page.locator("#title-4").fill("Blames a person instead of a cause")
    page.locator("#points-4").fill("-1")
    page.locator("#points-4").press("Enter")
    page.get_by_role("heading", name="What it would do").wait_for()
    page.wait_for_load_state()
    axe(page)
    no_sideways_scroll(page)
    page.get_by_label("Why?").fill("Blame is no cause.")
    page.get_by_role("button", name="Apply it").click()
    page.get_by_text("stands; it moves none").wait_for()
    page.get_by_label("Why take it back?").fill("Only a test.")
    page.get_by_role("button", name="Take edition").click()
    page.get_by_text("says again what").wait_for()
    page.wait_for_load_state()
    axe(page)
    no_sideways_scroll(page)
    assert complaints == []


def test_a_story_is_scrubbed_by_arrow_keys(
    new_page, sign_in, theme, width, axe, no_sideways_scroll, complaints, desk
):
    page = new_page(theme=theme, width=width)
    sign_in(page, "grader")
    page.goto(desk)
    page.get_by_role("link", name="scrub through them").click()
    page.get_by_text("moment 1 of 7").wait_for()
    page.wait_for_load_state()  # Its keys work once its script is there.
    page.keyboard.press("ArrowRight")
    page.get_by_text("moment 2 of 7").wait_for()
    page.wait_for_url("**/story/?at=1#m1")
    axe(page)
    no_sideways_scroll(page)
    page.locator("#place").press("End")
    page.get_by_text("moment 7 of 7").wait_for()
    page.locator("#place[aria-valuetext^='Moment 7 of 7']").wait_for()
    assert complaints == []
