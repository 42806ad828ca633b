"""What a reader commits and asks for, from the keyboard on a phone: an order, a drawn curve, a hint; and all at once."""

AT_ONCE = """async ([address, fields]) => {
  const token = JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRFToken"];
  const send = (said) => fetch(address, {method: "POST", headers: {"X-CSRFToken": token, "HX-Request": "true"}, body: new URLSearchParams(said)});
  return (await Promise.all(fields.map(send))).map((response) => response.status);
}"""


def commit(page, key: str) -> None:
    card = page.locator(f"#prediction-{key}")
    card.get_by_label("70%").check()
    card.get_by_role("button", name="Commit").press("Enter")
    page.locator(f"#prediction-{key}.revealed").wait_for()


def test_an_order_and_a_curve_are_committed_from_the_keyboard_on_a_phone(
    new_page, sign_in, axe, no_sideways_scroll, complaints
):
    page = new_page(width=320, theme="dark")
    sign_in(page)
    page.goto("/lessons/failure-modes/classify/")
    order = page.locator("#prediction-graphs-in-order")
    up = order.get_by_role("button", name="Up: vllm:num_requests_running is twice its usual value")
    up.press("Enter")
    up.press("Enter")
    assert "num_requests_running" in order.locator("li label").nth(1).inner_text()
    axe(page)
    commit(page, "graphs-in-order")
    assert "3 of 6 pairs the wrong way round" in order.inner_text()
    axe(page)
    no_sideways_scroll(page)

    page.goto("/lessons/failure-modes/overload/")
    sketch = page.locator("#prediction-after-the-burst")
    point = sketch.get_by_label("KV usage, %, at 0 minutes")
    assert point.get_attribute("aria-valuetext") == "not set"
    point.press("ArrowDown")
    assert sketch.locator("[name=at-0]").input_value() == "45"
    for place, value in enumerate((40, 95, 95, 95, 90, 60, 40, 35), 1):
        sketch.locator(f"[name=at-{place}]").fill(str(value))
    assert len(sketch.locator("[data-line]").get_attribute("points").split()) == 9
    axe(page)
    commit(page, "after-the-burst")
    assert sketch.locator("polyline").count() == 2
    sketch.get_by_text("The same numbers as a table").click()
    axe(page)
    no_sideways_scroll(page)
    assert complaints == []


def test_a_hint_opens_with_a_wrong_try_and_two_windows_spend_nothing_twice(
    new_page, sign_in, axe, no_sideways_scroll, complaints
):
    page = new_page(width=320)
    sign_in(page)
    page.goto("/lessons/failure-modes/four-ooms/")
    check = page.locator("#check-kv-per-rank")
    check.get_by_label("Your answer").fill("320")
    check.get_by_role("button", name="Ask for a hint").press("Enter")
    check.locator(".waits").wait_for()
    assert "opens in 45\xa0s" in check.inner_text()
    assert check.get_by_label("Your answer").input_value() == "320"
    axe(page)
    no_sideways_scroll(page)
    hint = "/lessons/failure-modes/checks/kv-per-rank/hint/"
    answer = "/lessons/failure-modes/checks/kv-per-rank/"
    assert set(page.evaluate(AT_ONCE, [hint, [{"hint": "1"}] * 6])) == {200}
    # The same wrong answer four times and another one twice: all of them as the first try.
    said = [{"answer": "320", "try": "1"}] * 4 + [{"answer": "40", "try": "1"}] * 2
    statuses = page.evaluate(AT_ONCE, [answer, said])
    assert sorted(statuses) in ([200] * 4 + [422] * 2, [200] * 2 + [422] * 4)
    complaints.clear()
    page.reload()
    assert check.locator(".feedback").count() == 1
    assert "Two tries are left" in check.inner_text()
    assert check.locator(".hints li").count() == 1
    axe(page)
    page.evaluate(AT_ONCE, [answer, [{"answer": "80", "try": "2"}] * 4])
    page.reload()
    assert check.locator(".feedback").count() == 2
    assert "Your second answer: right." in check.inner_text()
    assert complaints == []


def test_what_was_typed_stays_when_one_is_signed_out_and_is_taken_after_signing_in_elsewhere(
    new_page, sign_in, complaints
):
    page = new_page()
    sign_in(page)
    page.goto("/lessons/failure-modes/classify/")
    page.wait_for_load_state()
    card = page.locator("#prediction-arrivals-implied")
    card.get_by_label("Value").fill("42.7")
    card.get_by_label("70%").check()
    card.get_by_label("Why").fill("All came since the oldest did.")
    page.context.clear_cookies(name="sessionid")
    card.get_by_role("button", name="Commit").click()
    page.locator("#unanswered").get_by_text("sign").first.wait_for()
    assert card.get_by_label("Why").input_value() == "All came since the oldest did."
    complaints.clear()  # The browser notes the 403.

    other = page.context.new_page()
    sign_in(other)
    other.close()
    card.get_by_role("button", name="Commit").click()
    page.locator("#prediction-arrivals-implied.revealed").wait_for()
    assert page.locator("#unanswered").inner_text() == ""
    assert complaints == []
