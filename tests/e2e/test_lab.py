"""A whole incident in a real browser, with a real worker and broker behind it."""

import re

import pytest

LAB = "/labs/preemption-storm/"
EXCHANGE = "[id^=exchange-]"


def start(page) -> None:
    page.goto(LAB)
    page.get_by_role("button", name="Take the page").click()
    page.locator("#predict-h").wait_for()


def predict(page, value: str = "60") -> None:
    page.get_by_label("Value").fill(value)
    page.locator("input[name=confidence][value='70']").check(force=True)
    page.get_by_label("Why?").fill("Nothing here mends itself.")
    page.get_by_role("button", name="Commit").click()
    page.locator("#console").wait_for()


def act(page, button: str) -> None:
    """Press a button of the room and wait until its answer stands in the console."""
    before = page.locator(EXCHANGE).count()
    page.locator(button).click()
    page.locator(EXCHANGE).nth(before).wait_for(state="attached", timeout=30_000)
    page.locator("#under-way > *").first.wait_for(state="detached")


def rule_out(page, name: str) -> None:
    """Move a slider to 0 and wait until that is kept."""
    page.locator(f"#belief-{name}").fill("0")
    page.locator(f"#belief-{name}-label.struck").wait_for()


def diagnose(page) -> None:
    form = page.locator("#diagnosis")
    form.locator("input[name=scope][value=fault]").check(force=True)
    form.get_by_label("first token within 2 s").check()
    form.get_by_label("no pause over 1 s").check()
    form.locator("input[name=layer][value=memory]").check(force=True)
    form.get_by_label("KV block pool").check()
    form.locator("#mechanism").select_option("demand_exceeds_pool")
    form.locator("#parameter").fill("1.14")
    form.locator("input[name=confidence][value='80']").check(force=True)
    form.locator("[id$=offered_load_12m]").select_option("shows")
    form.locator("[id$=unaccounted_share]").select_option("rules_out:leak")
    page.locator("#commit").click()
    page.locator("#diagnosis .said").wait_for()


def test_an_incident_from_page_to_debrief(
    new_page, sign_in, theme, width, axe, no_sideways_scroll, complaints
):
    page = new_page(theme=theme, width=width)
    sign_in(page)

    def sound() -> None:
        axe(page)
        no_sideways_scroll(page)

    page.goto("/labs/")
    sound()
    page.goto(LAB)
    sound()
    start(page)
    sound()
    predict(page)
    sound()
    gauges = page.locator(".gauges")
    for tool in ("gaps", "offered_load", "ledger"):
        act(page, f"#tool-{tool}")
    assert "not verified yet" in gauges.inner_text()
    assert page.locator("#told").text_content().startswith("Reading 3 is done at 1:45")
    rule_out(page, "router")
    sound()
    diagnose(page)
    sound()
    act(page, "#change-fp8")
    assert "in force since 3:05" in page.locator(".act").inner_text()
    act(page, "#wait-5m")
    act(page, "#verify")
    assert re.search(r"[012] of 2 kept", gauges.inner_text())
    assert "not verified yet" not in gauges.inner_text()
    sound()
    page.locator("#explanation-text").fill("Requests wanted more than the pool holds.")
    page.locator("#explain").click()
    page.locator("#exp-h .meta").wait_for()
    page.locator("#finish").click()
    page.wait_for_url(re.compile("/debrief/$"), timeout=90_000)
    page.locator(".plot svg").first.wait_for()
    sound()
    assert page.locator(".marks tbody tr").count() == 6
    assert "seed" in page.locator(".page-head").inner_text()
    assert "Requests wanted more than the pool holds." in page.locator(".quote").inner_text()
    page.goto(LAB)
    sound()
    assert complaints == []


def test_a_panel_of_the_dashboard_is_drawn_where_it_was_asked_for(
    new_page, sign_in, theme, width, axe, no_sideways_scroll, complaints
):
    page = new_page(theme=theme, width=width)
    sign_in(page)
    start(page)
    predict(page)
    act(page, "#tool-dashboard_kv")
    act(page, "#change-cap")
    act(page, "#tool-dashboard_preemptions")
    drawn = page.locator("#console .plot svg.main-svg")
    drawn.first.wait_for()
    assert page.locator("#console .plot:has(svg)").count() == 2
    last = page.locator(EXCHANGE).last
    assert "Preemptions in five minutes" in last.inner_text()
    axe(page)
    no_sideways_scroll(page)
    assert complaints == []


def test_a_refused_line_stays_in_the_field_and_an_answered_one_leaves_it(page, sign_in, complaints):
    sign_in(page)
    start(page)
    predict(page)
    field = page.locator("#cmd")
    field.fill("kubectl get pods")
    field.press("Enter")
    page.locator(".refused").wait_for()
    assert field.input_value() == "kubectl get pods"
    assert page.evaluate("document.activeElement.id") == "cmd"
    field.fill("kv-ledger")
    page.locator("#price", has_text="0:30").wait_for()
    field.press("Enter")
    page.locator(EXCHANGE).nth(1).wait_for()
    page.locator("#under-way > *").first.wait_for(state="detached")
    assert field.input_value() == ""
    page.locator("#cmd:focus").wait_for()
    assert complaints == []


def test_what_is_half_typed_survives_a_reading(page, sign_in):
    sign_in(page)
    start(page)
    predict(page)
    page.locator("#cmd").fill("half a comm")
    page.locator("#explanation-text").fill("half a thought")
    page.locator("#mechanism").select_option("pool_leaks")
    page.locator("input[name=layer][value=lifetime]").check(force=True)
    page.locator("#alarm-table summary").click()
    act(page, "#tool-ledger")
    page.locator("[id$=unaccounted_share]").select_option("shows")
    act(page, "#tool-gaps")
    assert page.locator("#cmd").input_value() == "half a comm"
    assert page.locator("#explanation-text").input_value() == "half a thought"
    assert page.locator("#mechanism").input_value() == "pool_leaks"
    assert page.locator("input[name=layer][value=lifetime]").is_checked()
    assert page.locator("[id$=unaccounted_share]").input_value() == "shows"
    assert page.locator("#alarm-table").get_attribute("open") is not None


def test_a_mistake_in_the_diagnosis_keeps_the_rest_and_leads_to_the_field(
    page, sign_in, complaints
):
    sign_in(page)
    start(page)
    predict(page)
    page.locator("#parameter").fill("lots")
    page.locator("#commit").click()
    page.locator("#dia-errors:focus").wait_for()
    assert page.locator("#parameter").input_value() == "lots"
    assert "Say whether there is a fault" in page.locator("#diagnosis").inner_text()
    complaints.clear()  # The browser notes the 422.


def test_a_second_window_is_told_at_once(page, sign_in):
    sign_in(page)
    start(page)
    predict(page)
    other = page.context.new_page()
    other.goto(page.url)
    act(page, "#tool-ledger")
    other.locator(EXCHANGE).first.wait_for(timeout=3_000)


def test_the_room_is_worked_from_the_keyboard(page, sign_in, focus_is_visible):
    sign_in(page)
    start(page)
    predict(page)
    page.locator("#tool-ledger").focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    focus_is_visible(page)
    page.keyboard.press("Enter")
    page.locator(EXCHANGE).first.wait_for()
    page.locator("#under-way > *").first.wait_for(state="detached")
    page.locator("#tool-ledger:focus").wait_for()
    page.keyboard.press("Tab")
    focus_is_visible(page)
    page.locator("#belief-demand").focus()
    page.keyboard.press("ArrowRight")
    page.locator("output[for=belief-demand]", has_text="25%").wait_for()
    page.locator("#belief-demand:focus").wait_for()


def test_one_slider_leaves_the_others_where_they_are(page, sign_in):
    sign_in(page)
    start(page)
    predict(page)
    # The second is moved while the first is on its way.
    page.locator("#belief-demand").fill("75")
    page.locator("#belief-router").fill("0")
    page.locator("#belief-router-label.struck").wait_for()
    page.reload()
    told = page.locator(".beliefs output").all_inner_texts()
    assert told == ["open", "75%", "out", "open", "open"]


def test_a_slider_under_the_hand_outlives_a_room_that_is_drawn_anew(page, sign_in):
    sign_in(page)
    start(page)
    predict(page)
    page.locator("#belief-router").evaluate(
        "(slider) => { slider.value = '0'; slider.dispatchEvent(new Event('input', {bubbles: true})) }"
    )
    act(page, "#tool-ledger")
    page.locator("#belief-router-label.struck").wait_for()
    page.reload()
    assert page.locator("#belief-router").input_value() == "0"


def test_the_act_column_scrolls_with_the_page_and_leads_to_its_parts(page, sign_in):
    sign_in(page)
    start(page)
    predict(page)
    assert page.locator(".act").evaluate("(act) => act.scrollHeight <= act.clientHeight")
    for part, first in (("Changes", "#changes-h"), ("Verify", "#verify")):
        page.locator(".act-parts").get_by_role("link", name=part).click()
        box = page.locator(first).bounding_box()
        assert 0 < box["y"] < 800 - box["height"]


def test_a_refusal_wraps(page, sign_in):
    sign_in(page)
    start(page)
    predict(page)
    page.locator("#cmd").fill("request-log --last 5m --where model=atlas-70b")
    page.locator("#run").click()
    said = page.locator(".refused pre")
    said.wait_for()
    assert said.evaluate("(pre) => pre.scrollWidth <= pre.clientWidth")


def test_an_attempt_is_given_up_after_a_question(page, sign_in):
    sign_in(page)
    start(page)
    predict(page)
    page.get_by_role("link", name="Give up").click()
    page.get_by_role("button", name="Give up").click()
    assert "is given up" in page.locator(".messages").inner_text()


@pytest.mark.slow
def test_an_incident_without_javascript(new_page, sign_in, no_sideways_scroll):
    page = new_page(width=320, scripts=False)
    sign_in(page)
    page.goto(LAB)
    page.get_by_role("button", name="Take the page").click()

    def refresh_until(wanted: str) -> None:
        for _ in range(60):
            if page.locator(wanted).count():
                return
            page.reload()
            page.wait_for_timeout(250)
        raise AssertionError(f"{wanted} never came")

    def fits() -> None:
        page.wait_for_load_state()  # Without its styles a page has no width of its own.
        no_sideways_scroll(page)

    def press(button: str) -> None:
        before = page.locator(EXCHANGE).count()
        page.locator(button).click()
        refresh_until(f":nth-match({EXCHANGE}, {before + 1})")

    refresh_until("#predict-h")
    predict(page)
    press("#tool-offered_load")
    press("#tool-ledger")
    page.locator("#cmd").fill("kubectl get pods")
    page.locator("#run").click()
    assert page.locator("#cmd").input_value() == "kubectl get pods"
    fits()
    page.locator("#belief-router").fill("0")
    page.get_by_role("button", name="Keep these").click()
    page.locator(".beliefs .struck").first.wait_for()
    assert page.locator(".beliefs .struck").count() == 1
    diagnose(page)
    press("#change-fp8")
    press("#verify")
    page.locator("#explanation-text").fill("Requests wanted more than the pool holds.")
    page.locator("#explain").click()
    fits()
    page.locator("#finish").click()
    refresh_until(".marks")
    assert page.url.endswith("/debrief/")
    fits()
