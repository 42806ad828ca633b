"""A person's own pages in a real browser."""

import pytest

STATION = "/lessons/failure-modes/classify/"
PAGES = ["/you/", "/you/notes/", "/review/", "/account/", STATION]
LATER = """
from datetime import timedelta
from lessons.models import CheckTry
for row in CheckTry.objects.filter(learner__email="{email}"):
    CheckTry.objects.filter(pk=row.pk).update(tried_at=row.tried_at - timedelta(days=2))
"""


@pytest.fixture
def missed(live_site, sign_in):
    """Sign a page in as someone who missed a check two days ago and keeps a note with a bookmark."""

    def enter(page):
        email = sign_in(page)
        page.goto(STATION)
        page.get_by_label("Your note").fill("Ask how old the oldest request is, then divide." * 4)
        page.get_by_role("button", name="Bookmark this station").click()
        page.wait_for_url("**#note")
        check = page.locator("#check-cold-rollout")
        check.locator("label", has_text="memory").click()
        check.get_by_role("button", name="Answer").click()
        check.get_by_text("not yet").wait_for()
        live_site.manage("shell", "-c", LATER.format(email=email))

    return enter


def test_a_persons_own_pages_are_clean(
    theme, width, new_page, missed, axe, no_sideways_scroll, complaints
):
    page = new_page(width=width, theme=theme)
    missed(page)
    for path in PAGES:
        page.goto(path)
        axe(page)
        no_sideways_scroll(page)
    assert complaints == []


def test_a_review_is_answered_from_the_keyboard_and_without_scripts(new_page, missed):
    page = new_page(scripts=False)
    missed(page)
    page.goto("/review/")
    page.get_by_role("radio").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    page.get_by_text("Answered today").wait_for()
    assert "Comes back on" in page.locator(".answered").inner_text()
