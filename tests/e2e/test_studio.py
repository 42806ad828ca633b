"""An author in a real browser: a mistake is told while it is typed, and what is published is read by others."""

import re

import pytest

SYMPTOM = "/studio/pieces/lessons/symptoms/5.9.md/"


@pytest.fixture
def desk(new_page, sign_in, theme, width):
    page = new_page(theme=theme, width=width)
    sign_in(page, "instructor")
    page.goto(SYMPTOM)
    page.get_by_role("button", name="Begin a draft").click()
    page.wait_for_load_state()
    return page


def test_a_mistake_is_told_while_it_is_typed_and_what_is_published_is_read_by_others(
    desk, new_page, sign_in, axe, no_sideways_scroll
):
    editor, look = desk.get_by_role("textbox", name="5.9.md"), desk.locator("#look")
    text = editor.input_value()
    editor.fill(text.replace("tier = ", "teir = ", 1))
    look.get_by_text("1 mistake").wait_for()
    look.get_by_role("button").click()
    assert desk.evaluate("document.activeElement.id") == "text"
    axe(desk)
    no_sideways_scroll(desk)
    editor.fill(text + "\nWritten in the studio.\n")
    look.get_by_text("Written in the studio.").first.wait_for()
    axe(desk)
    desk.keyboard.press("Control+s")
    desk.get_by_text("is saved in the draft").wait_for()
    desk.get_by_role("button", name="Publish…").click()
    desk.get_by_label("What changed, and why").fill("Says where it was written.")
    axe(desk)
    no_sideways_scroll(desk)
    desk.get_by_role("button", name=re.compile("Publish version")).click()
    desk.get_by_text("is published. Attempts").wait_for()
    axe(desk)
    reader = new_page()
    sign_in(reader)
    reader.goto("/symptoms/5.9/")
    reader.get_by_text("Written in the studio.").first.wait_for()


def test_typed_text_is_not_left_without_a_question(desk):
    editor = desk.get_by_role("textbox", name="5.9.md")
    editor.press("End")
    editor.type("x")
    desk.on("dialog", lambda dialog: dialog.dismiss())
    with desk.expect_event("dialog") as asked:
        desk.close(run_before_unload=True)
    assert asked.value.type == "beforeunload"
