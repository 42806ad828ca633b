"""Gradebook and insight in a real browser: an instructor walks through them, and a learner unfolds a keyword."""

import re


def test_an_instructor_reads_the_gradebook_and_what_a_class_did(
    theme, width, new_page, sign_in, live_site, axe, no_sideways_scroll, complaints
):
    seed = f"{width}{1 if theme == 'dark' else 2}"
    live_site.manage("demo_data", "--learners", "11", "--attempts", "0", "--seed", seed)
    page = new_page(width=width, theme=theme)
    sign_in(page, "instructor")
    page.goto("/cohorts/")
    page.get_by_role("link", name=f"Demo class {seed}").click()
    page.get_by_role("link", name="Gradebook").click()
    axe(page)
    no_sideways_scroll(page)
    page.get_by_role("link", name="Total").click()
    page.wait_for_url(re.compile("sort=total"))
    page.get_by_label("Name or address").fill(f"learner{seed}-3@")
    page.get_by_role("button", name="Show").click()
    page.get_by_text("1 of 11").wait_for()
    page.locator(".grades tbody a").click()
    page.get_by_role("heading", name="Checks missed at first").wait_for()
    axe(page)
    no_sideways_scroll(page)
    page.goto("/lessons/insight/")
    for name, heading in (
        ("Sure and wrong", "Sure and wrong"),
        ("Keywords", "Keywords before wrong answers"),
        ("Labs", "What the class did in the labs"),
    ):
        page.get_by_label("What the class did").get_by_role("link", name=name).click()
        page.get_by_role("heading", name=heading, level=1).wait_for()
        axe(page)
        no_sideways_scroll(page)
    page.get_by_role("link", name="Lab 1,").click()
    page.get_by_text("Fewer than 10 learners").wait_for()
    axe(page)
    assert complaints == []


def test_a_keyword_that_is_unfolded_is_said_once(page, sign_in):
    sign_in(page)
    page.goto("/lessons/failure-modes/overload/")
    said = []
    page.on("request", lambda request: "/opened/" in request.url and said.append(request.post_data))
    keyword = page.locator("details.kw > summary").first
    with page.expect_response(lambda response: "/opened/" in response.url) as answer:
        keyword.click()
    assert answer.value.status == 204
    keyword.click()
    keyword.click()
    page.locator("details.kw[open]").wait_for()
    assert len(said) == 1
