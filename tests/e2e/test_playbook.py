"""The playbook in a real browser: the ledger that one turns, and the card that one prints."""

import re

import pytest

PAGE = re.compile(rb"/Type\s*/Page[^s]")


def test_the_ledger_is_turned_from_the_keyboard_on_a_phone_in_the_dark(
    new_page, axe, no_sideways_scroll, complaints
):
    page = new_page(width=320, theme="dark")
    page.goto("/lessons/memory-budget/ledger/")
    says = page.locator("#demo-memory-ledger-result .asked")
    assert "451,024 tokens" in says.inner_text()
    ranks = page.locator("#demo-memory-ledger").get_by_label("Ranks")
    ranks.focus()
    # From 4 up to 2.
    page.keyboard.press("ArrowUp")
    says.filter(has_text="10,208 tokens").wait_for()
    context = page.locator("#demo-memory-ledger input[name=max_model_len]")
    context.fill("32768")
    says.filter(has_text="To serve at least one request").wait_for()
    axe(page)
    no_sideways_scroll(page)
    assert complaints == []


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 320)])
def test_the_triage_card_is_clean_and_prints_on_one_page(
    theme, width, new_page, axe, no_sideways_scroll, complaints
):
    page = new_page(width=width, theme=theme)
    page.goto("/triage/")
    axe(page)
    no_sideways_scroll(page)
    for paper in ("A4", "Letter"):
        assert len(PAGE.findall(page.pdf(format=paper))) == 1, paper
    page.emulate_media(media="print")
    assert not page.locator("header.top").is_visible()
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    ink = page.evaluate("getComputedStyle(document.querySelector('td')).color")
    assert (ground, ink) == ("rgb(255, 255, 255)", "rgb(0, 0, 0)")
    assert complaints == []
