"""Every kind of check in a real browser, on a page that asks them all.

The page is no lesson of the course: a web server of its own has it, without broker and worker.
"""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.lessons.kinds import lesson_of_kinds

ROOT = Path(__file__).resolve().parents[2]
PAGE = "/lessons/kinds/asked/"
POOL = "the KV pool"
START_LIMIT_S = 120


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    return lesson_of_kinds(tmp_path_factory.mktemp("kinds"))


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Yield where the page is served, and the sessions of people who have seen nothing yet, by role."""
    folder = tmp_path_factory.mktemp("served")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    environment = {
        **{name: value for name, value in os.environ.items() if name != "REDIS_URL"},
        "DEBUG": "true",
        "DATABASE_URL": f"sqlite:///{folder / 'site.sqlite3'}",
    }
    server = [sys.executable, Path(__file__).with_name("serve_kinds.py"), port, folder]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(server, cwd=ROOT, env=environment, stdout=log, stderr=log)
    deadline = time.monotonic() + START_LIMIT_S
    while b"Starting" not in (folder / "log").read_bytes():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            pytest.fail((folder / "log").read_text())
        time.sleep(0.1)
    yield f"http://127.0.0.1:{port}", json.loads((folder / "sessions.json").read_text())
    process.terminate()
    process.wait(timeout=20)


@pytest.fixture
def open_page(browser, served, complaints):
    """A function that opens an address as someone new."""
    contexts = []
    url, sessions = served

    def show(role="learner", *, width=1280, theme="light", scripts=True, at=PAGE):
        context = browser.new_context(
            base_url=url,
            viewport={"width": width, "height": 800},
            java_script_enabled=scripts,
            reduced_motion="reduce",
        )
        contexts.append(context)
        cookies = {"theme": theme, "sessionid": sessions[role].pop()}
        context.add_cookies([{"name": n, "value": v, "url": url} for n, v in cookies.items()])
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else 0)
        page.goto(at)
        return page

    yield show
    for context in contexts:
        context.close()


def answer(page, kind, text):
    check = page.locator(f"#check-a-{kind}")
    check.get_by_label("Your answer").fill(text)
    check.get_by_role("button", name="Answer").click()
    check.locator(".feedback").wait_for()
    return check


def rows(page) -> list[str]:
    return page.locator("[data-order] label").all_inner_texts()


def test_every_kind_is_sound_before_and_after_it_is_answered(
    open_page, axe, no_sideways_scroll, theme, width
):
    page = open_page(width=width, theme=theme)
    axe(page)
    no_sideways_scroll(page)
    for select in page.locator("#check-a-match select").all():
        select.select_option(label=POOL)
    for kind in ("match", "order"):
        page.locator(f"#check-a-{kind}").get_by_role("button", name="Answer").click()
        page.locator(f"#check-a-{kind} .feedback").wait_for()
    axe(page)
    no_sideways_scroll(page)
    answer(page, "text", "--max-num-seqs")
    answer(page, "number", "43 /s")
    page.locator("#check-a-text").get_by_text("Why this answer?").click()
    page.locator("#check-a-text").get_by_text("Report a problem").click()
    axe(page)
    no_sideways_scroll(page)


def test_items_are_put_in_order_from_the_keyboard(open_page, kinds, complaints, focus_is_visible):
    page = open_page(width=320)
    right = [item.text for item in kinds.station("asked").checks["a-order"].ordering.items]
    assert page.locator("[data-order] select").first.is_hidden()
    for place, text in enumerate(right):
        while (at := rows(page).index(text)) > place:
            up = page.get_by_role("button", name=f"Up: {text}", exact=True)
            up.focus()
            page.keyboard.press("Enter")
            assert rows(page).index(text) == at - 1
            assert page.evaluate("document.activeElement.ariaLabel") == f"Up: {text}"
            focus_is_visible(page)
    status = page.locator("#check-a-order [role=status]")
    assert "of 4" in status.inner_text()
    page.get_by_role("button", name=f"Up: {right[0]}", exact=True).click(force=True)
    assert rows(page) == right
    page.locator("#check-a-order").get_by_role("button", name="Answer").click()
    page.locator("#check-a-order .feedback").wait_for()
    assert "The pool is the rest" in page.locator("#check-a-order").inner_text()
    assert "Your first answer: right." in page.locator("#check-a-order").inner_text()
    assert complaints == []


def test_a_second_try_moves_on_from_the_first(open_page):
    page = open_page()
    before = rows(page)
    page.locator("#check-a-order").get_by_role("button", name="Answer").click()
    page.locator("#check-a-order .feedback").wait_for()
    assert rows(page) == before
    page.get_by_role("button", name=f"Down: {before[0]}", exact=True).click()
    assert rows(page) == [before[1], before[0], *before[2:]]


def test_every_kind_is_answered_without_javascript(open_page, kinds, no_sideways_scroll):
    page = open_page(width=320, scripts=False)
    checks = kinds.station("asked").checks
    matching, ordering = checks["a-match"].matching, checks["a-order"].ordering
    texts = {choice.key: choice.text for choice in matching.choices}
    for pair in matching.pairs[:2]:
        page.get_by_label(pair.text).select_option(label=texts[pair.right])
    page.locator("#check-a-match").get_by_role("button", name="Answer").click()
    assert "Choose one for each." in page.locator("#check-a-match .errors").inner_text()
    last = matching.pairs[2]
    page.get_by_label(last.text).select_option(label=texts[last.right])
    page.locator("#check-a-match").get_by_role("button", name="Answer").click()
    assert "Phase first" in page.locator("#check-a-match").inner_text()
    for place, item in enumerate(ordering.items, 1):
        page.locator("#check-a-order").get_by_label(item.text, exact=True).select_option(str(place))
    page.locator("#check-a-order").get_by_role("button", name="Answer").click()
    assert page.url.endswith("#check-a-order")
    assert "The pool is the rest" in page.locator("#check-a-order").inner_text()
    # Without its style sheets, which may still be on their way, any page is wide.
    page.wait_for_load_state()
    no_sideways_scroll(page)


def test_why_and_a_report_are_kept_in_place(open_page, complaints):
    page = open_page()
    check = answer(page, "number", "43")
    check.get_by_text("Why this answer?").click()
    check.get_by_label("In your own words").fill("47 over 1.1 s.")
    check.get_by_role("button", name="Keep it").click()
    check.get_by_text("Why, in your words").wait_for()
    check.get_by_text("Report a problem").click()
    check.get_by_role("button", name="Report it").click()
    check.locator(".errors").wait_for()
    check.locator("[name=problem]:focus").wait_for()
    check.get_by_label("What is wrong?").fill("The unit is missing.")
    check.get_by_role("button", name="Report it").click()
    check.get_by_text("You reported").wait_for()


def test_the_reports_are_sound(open_page, axe, no_sideways_scroll, theme, width):
    check = answer(open_page(), "text", "--max-num-seqs")
    check.get_by_text("Report a problem").click()
    check.get_by_label("What is wrong?").fill("It accepts " + "x" * 200)
    check.get_by_role("button", name="Report it").click()
    check.get_by_text("You reported").wait_for()
    page = open_page("instructor", width=width, theme=theme, at="/lessons/reports/")
    axe(page)
    no_sideways_scroll(page)
    page.get_by_role("button", name="Done").first.click()
    page.get_by_text("Done by").first.wait_for()
    axe(page)
