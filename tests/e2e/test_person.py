"""A person's own pages in a real browser."""

import pytest

STATION = "/lessons/failure-modes/classify/"
PAGES = ["/you/", "/you/notes/", "/account/", STATION]


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 320)])
def test_a_persons_own_pages_are_clean(
    theme, width, new_page, sign_in, axe, no_sideways_scroll, complaints
):
    page = new_page(width=width, theme=theme)
    sign_in(page)
    page.goto(STATION)
    page.get_by_label("Your note").fill("Ask how old the oldest request is, then divide." * 4)
    page.get_by_role("button", name="Bookmark this station").click()
    page.wait_for_url("**#note")
    for path in PAGES:
        page.goto(path)
        axe(page)
        no_sideways_scroll(page)
    assert complaints == []
