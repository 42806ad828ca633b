"""A walkthrough in a real browser: a worker computes the answer of each step."""

PAGE = "/lessons/late-first-tokens/split/"


def test_a_step_is_run_from_the_keyboard_and_another_reading_taken_beside_it(
    new_page, sign_in, axe, no_sideways_scroll, complaints
):
    page = new_page(theme="dark", width=320)
    sign_in(page)
    page.goto(PAGE)
    axe(page)
    step = page.locator("#run-router")
    step.get_by_role("textbox", name="Line of the console").focus()
    page.keyboard.press("Enter")
    step.get_by_text("Write what you expect first").wait_for()
    step.get_by_label("If the router were to blame").fill("Seconds, not milliseconds.")
    page.keyboard.press("Enter")
    step.locator(".told").wait_for(timeout=20_000)
    assert "16.8\N{NO-BREAK SPACE}ms" in step.locator(".told").inner_text()
    assert "Seconds, not milliseconds." in step.inner_text()

    step.get_by_text("Take another reading").click()
    step.get_by_role("textbox", name="Line of the console").fill("shed 20%")
    page.keyboard.press("Enter")
    step.get_by_text("would leave this walkthrough's world").wait_for()
    assert step.get_by_role("textbox", name="Line of the console").input_value() == "shed 20%"
    complaints.clear()  # The browser writes down that an answer was a 422.
    step.get_by_role("textbox", name="Line of the console").fill("dashboard queue")
    page.keyboard.press("Enter")
    step.locator(".plot svg").first.wait_for(timeout=20_000)
    axe(page)
    no_sideways_scroll(page)
    assert complaints == []


def test_without_scripts_a_step_is_run_and_looked_for(new_page, sign_in, complaints):
    page = new_page(scripts=False)
    sign_in(page)
    page.goto(PAGE)
    step = page.locator("#run-alarm")
    step.get_by_role("button", name="Run").click()
    told, again = step.locator(".told"), step.get_by_role("link", name="Look again")
    for _ in range(50):
        told.or_(again).first.wait_for()  # The page that answers, not the one that asked.
        if told.count():
            break
        again.click()
    assert "times the target" in step.locator(".told").inner_text()
    assert page.url.endswith("#run-alarm")
    assert complaints == []
