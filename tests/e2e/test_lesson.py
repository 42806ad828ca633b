"""A lesson in a real browser: reading, answering, committing, revealing."""

import pytest

from lessons import content

LESSON = content.lessons()["failure-modes"]
STATIONS = [station.slug for station in LESSON.stations]
BASE = "/lessons/failure-modes/"


def commit(page, key: str, value: str, *, sure: int = 70) -> None:
    card = page.locator(f"#prediction-{key}")
    card.get_by_label("Value").fill(value)
    card.locator(f"input[value='{sure}']").check(force=True)
    card.get_by_label("Why?").fill("A guess with a reason.")
    card.get_by_role("button", name="Commit").click()


@pytest.mark.parametrize("address", ["/lessons/", BASE, *(BASE + slug + "/" for slug in STATIONS)])
def test_every_page_is_sound_in_both_themes_and_both_widths(
    new_page, theme, width, axe, no_sideways_scroll, complaints, address
):
    page = new_page(theme=theme, width=width)
    page.goto(address)
    axe(page)
    no_sideways_scroll(page)
    assert complaints == []


def test_a_keyword_unfolds_from_the_keyboard(page, focus_is_visible):
    page.goto(BASE + "overload/")
    keyword = page.locator(".kw").first
    keyword.locator("summary").focus()
    focus_is_visible(page)
    page.keyboard.press("Enter")
    assert keyword.locator(".kw-body").is_visible()
    page.keyboard.press("Enter")
    assert not keyword.locator(".kw-body").is_visible()


def test_a_long_prediction_is_committed_computed_revealed_and_explained(
    new_page, sign_in, theme, width, axe, no_sideways_scroll, complaints
):
    page = new_page(theme=theme, width=width)
    sign_in(page)
    page.goto(BASE + "overload/")
    commit(page, "cap-28", "12", sure=80)
    revealed = page.locator("#prediction-cap-28.revealed")
    revealed.wait_for(timeout=30_000)
    assert "Computed" in revealed.inner_text()
    assert revealed.locator(".plot svg").first.is_visible()
    axe(page)
    no_sideways_scroll(page)
    revealed.get_by_label("What did you see?").fill("Stalls ended, the wait grew.")
    revealed.get_by_role("button", name="Save and explain").click()
    page.locator("#prediction-cap-28 .explained").wait_for()
    axe(page)
    no_sideways_scroll(page)
    assert complaints == []


def test_a_check_is_answered_from_the_keyboard_and_keeps_both_tries(page, sign_in, axe):
    sign_in(page)
    page.goto(BASE + "classify/")
    check = page.locator("#check-cold-rollout")
    check.locator("input[type=radio]").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    check.locator(".feedback").first.wait_for()
    check.locator(".feedback:focus").wait_for()
    axe(page)
    check.locator("input[type=radio]").nth(2).check()
    check.get_by_role("button", name="Try again").click()
    check.locator(".feedback").nth(1).wait_for()
    assert "your first answer" in check.inner_text()
    assert "your second answer" in check.inner_text()
    axe(page)


def test_what_was_typed_survives_a_mistake(page, sign_in, complaints):
    sign_in(page)
    page.goto(BASE + "four-ooms/")
    commit(page, "pool-atlas", "plenty")
    card = page.locator("#prediction-pool-atlas")
    card.locator(".errors").wait_for()
    assert card.get_by_label("Value").input_value() == "plenty"
    card.locator("[name=value]:focus").wait_for()
    complaints.clear()  # The browser notes the 422.
    card.get_by_label("Value").fill("114,688")
    card.get_by_role("button", name="Commit").click()
    page.locator("#prediction-pool-atlas.revealed").wait_for()


def test_everything_works_without_javascript(new_page, sign_in, no_sideways_scroll):
    page = new_page(width=320, scripts=False)
    sign_in(page)
    page.goto(BASE + "four-ooms/")
    commit(page, "pool-atlas", "plenty")
    assert "Write a number" in page.locator("#prediction-pool-atlas").inner_text()
    card = page.locator("#prediction-pool-atlas")
    card.get_by_label("Value").fill("35000")
    card.get_by_role("button", name="Commit").click()
    assert page.url.endswith("#prediction-pool-atlas")
    card.get_by_label("What did you see?").fill("More than three times as many.")
    card.get_by_role("button", name="Save and explain").click()
    assert "Had you read GiB as GB" in card.inner_text()
    page.locator("#check-kv-per-rank").get_by_label("Your answer").fill("320")
    page.locator("#check-kv-per-rank").get_by_role("button", name="Answer").click()
    assert "not yet" in page.locator("#check-kv-per-rank").inner_text()
    no_sideways_scroll(page)
    page.get_by_role("button", name="I have read this").click()
    assert page.url.endswith("/overload/")


def test_without_javascript_a_long_answer_is_a_link_away(new_page, sign_in):
    page = new_page(scripts=False)
    sign_in(page)
    page.goto(BASE + "overload/")
    commit(page, "cap-28", "12")
    card = page.locator("#prediction-cap-28")
    for _ in range(30):
        if "Look again" not in card.inner_text():
            break
        page.wait_for_timeout(500)
        card.get_by_role("link", name="Look again").click()
    assert "Computed" in card.inner_text()
    # No script draws a chart, so the table says it.
    assert not card.locator(".plot").first.is_visible()
    card.locator("summary", has_text="The same numbers as a table").click()
    assert card.get_by_role("row").count() > 3
