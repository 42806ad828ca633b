"""A person's own pages in a real browser."""

import pytest

PAGES = ["/you/", "/account/"]


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 320)])
def test_a_persons_own_pages_are_clean(
    theme, width, new_page, sign_in, axe, no_sideways_scroll, complaints
):
    page = new_page(width=width, theme=theme)
    sign_in(page)
    for path in PAGES:
        page.goto(path)
        axe(page)
        no_sideways_scroll(page)
    assert complaints == []
